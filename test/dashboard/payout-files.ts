/** An invented German account number with its check digits. */
export function ibanAt(n: number): string {
  const account = `50010517${String(n).padStart(10, "0")}`;
  // DE00 at the end, in digits.
  const check = 98n - (BigInt(`${account}131400`) % 97n);
  return `DE${String(check).padStart(2, "0")}${account}`;
}

const HEADINGS = [
  ...["Beneficiary", "Type", "IBAN", "Bank", "Street", "City", "ZIP", "Country"],
  ...["Betrag", "Currency", "Verwendungszweck"],
];
const ROWS = 200;

/** A file as a bank's program writes it: with a title, semicolons and decimal commas. */
export function payoutFile(): { text: string; rows: number } {
  const rows = Array.from({ length: ROWS }, (_, at) => [
    ...[`Payee number ${at + 1}`, "business", ibanAt(at + 1), "Sample Bank", "1 Sample Street"],
    ...["Berlin", "10115", "DE", `${100 + at},50`, "EUR", `Invoice ${at + 1}`],
  ]);
  // A wrong check digit, no city, and an amount below the minimum.
  rows[19]![2] = "DE00370400440532013000";
  rows[99]![5] = "";
  rows[179]![8] = "0,01";
  const lines = [["Payouts of November"], HEADINGS, ...rows, ["Total", "", "40000,00"]];
  return { text: `\ufeff${lines.map((line) => line.join(";")).join("\r\n")}\r\n`, rows: ROWS };
}
