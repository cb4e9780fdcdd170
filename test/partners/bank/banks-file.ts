const HOURS = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:30`);

/** An account that pays SEPA every hour of a banking day. */
export const SEPA_ACCOUNT = {
  holder: "Sample Ramp UAB",
  iban: "LT069999900000012345",
  bic: "SLIPLT21XXX",
  outbox: "out",
  routes: { sepa: { time_zone: "Europe/Vilnius", cut_offs: HOURS } },
  deposits: {
    currency: "eur",
    rails: ["local"],
    bank_name: "Sample Bank",
    bank_address: "1 Sample Street, Vilnius",
  },
};

export const WIRE_ACCOUNT = {
  holder: "Sample Ramp Inc",
  account_number: "9900012345",
  routing_number: "021000021",
  outbox: "out",
  routes: { us_wire: { time_zone: "America/New_York", cut_offs: ["16:00"] } },
};

export const ACH_ACCOUNT = {
  holder: "Sample Ramp Inc",
  account_number: "9900012345",
  routing_number: "021000021",
  outbox: "out",
  routes: {
    ach: {
      time_zone: "America/New_York",
      cut_offs: ["16:00"],
      bank_name: "SAMPLE BANK",
      company_name: "SAMPLE RAMP",
      company_id: "1234567890",
      is_balanced: true,
    },
  },
};

/** The text of a banks file. */
export function banksFile(inbox: string, accounts: Record<string, unknown>): string {
  return JSON.stringify({ inbox, accounts });
}
