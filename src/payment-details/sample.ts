/** For examples, the demo and triggered events. */
export const SAMPLE_PAYMENT_DETAIL = {
  account_name: "Maria Sample",
  currency: "eur",
  iban: "DE89370400440532013000",
  bank_name: "Sample Bank",
  beneficiary_type: "individual",
  date_of_birth: "21/04/1988",
  address_line1: "12 Sample Street",
  city: "Lisbon",
  postal_code: "1100-148",
  country: "PT",
} as const;
