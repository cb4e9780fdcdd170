/** An entry of a NACHA file that a bank sends. */
export type ReportedEntry = {
  /** Cents. */
  amount: bigint;
  id: string;
  account: string;
  original_trace: string;
  /** Of a return or a notification of change; null: an entry without addendum. */
  code: string | null;
  /** The corrected data of a notification of change. */
  data?: string;
  transaction_code?: string;
  /** Of the record itself. */
  trace?: string;
};

const BANK = "011401533";

/** A NACHA file as banks send it, with the sums that its reader compares. */
export function achReport(
  entry_class: "PPD" | "CCD" | "COR",
  entries: readonly ReportedEntry[],
): string {
  const lines = entries.flatMap((entry, at) => linesOf(entry, at + 1));
  const hash = String(BigInt(BANK.slice(0, 8)) * BigInt(entries.length))
    .padStart(10, "0")
    .slice(-10);
  const sumOf = (is_debit: boolean) =>
    entries
      .filter((entry) => codeOf(entry)[1]! >= "5" === is_debit)
      .reduce((sum, { amount }) => sum + amount, 0n);
  const sums = [sumOf(true), sumOf(false)].map((sum) => String(sum).padStart(12, "0")).join("");
  const count = String(lines.length);
  const records = [
    `101 0210000211234567890261118${"1030A094101SAMPLE RAMP            SAMPLE BANK".padEnd(65)}`,
    `5200SAMPLE RAMP${" ".repeat(25)}1234567890${entry_class}PAYOUT    261118261118   1${BANK.slice(0, 8)}0000001`,
    ...lines,
    `8200${count.padStart(6, "0")}${hash}${sums}1234567890${" ".repeat(25)}${BANK.slice(0, 8)}0000001`,
    `9000001000001${count.padStart(8, "0")}${hash}${sums}${" ".repeat(39)}`,
  ];
  const filler = (10 - (records.length % 10)) % 10;
  return `${[...records, ...Array<string>(filler).fill("9".repeat(94))].join("\n")}\n`;
}

const codeOf = ({ transaction_code = "21" }: ReportedEntry) => transaction_code;

function linesOf(entry: ReportedEntry, number: number): string[] {
  const trace = entry.trace ?? `${BANK.slice(0, 8)}${String(number).padStart(7, "0")}`;
  const head =
    `6${codeOf(entry)}${BANK}${entry.account.padEnd(17)}${String(entry.amount).padStart(10, "0")}` +
    `${entry.id.padEnd(15)}${"MARIA SAMPLE".padEnd(22)}  ${entry.code === null ? 0 : 1}${trace}`;
  if (entry.code === null) return [head];
  const type = entry.code.startsWith("C") ? "798" : "799";
  const addendum =
    `${type}${entry.code}${entry.original_trace.padEnd(15)}${" ".repeat(6)}${BANK.slice(0, 8)}` +
    `${(entry.data ?? "").padEnd(44)}${trace}`;
  return [head, addendum];
}
