import type { Instruction } from "../port.ts";
import type { ClosedFile } from "./model.ts";
import { listPayments, type StoredPayment } from "./store.ts";
import { DETAILS, type FileBankDeps } from "./submit-payments.ts";

const PAYMENTS_PER_READ = 500;

export type OpenedPayment = StoredPayment & Pick<Instruction, "beneficiary" | "reference">;

/** The payments of a file, or of one of its batches, in their order, with their payees. */
export async function* readPayments(
  { database, keyring }: FileBankDeps,
  file: Pick<ClosedFile, "id">,
  batch_number: number | null = null,
): AsyncGenerator<OpenedPayment> {
  let after = 0n;
  for (;;) {
    const place = { file_id: file.id, batch_number, after };
    const rows = await listPayments(database, place, PAYMENTS_PER_READ);
    if (rows.length === 0) return;
    const keys = await keyring.openAccounts(database, rows);
    for (const row of rows) {
      if (!row.details) throw new Error(`the details of ${row.end_to_end_id} are gone`);
      const record = { account_id: row.account_id, id: row.end_to_end_id };
      const { beneficiary, reference, ...paid } = DETAILS.open(
        keys.get(row.account_id)!,
        record,
        row.details,
      );
      const { amount = String(row.amount), currency = row.currency } = paid;
      if (amount !== String(row.amount) || currency !== row.currency) {
        throw new Error(`the amount of ${row.end_to_end_id} was changed in the database`);
      }
      yield { ...row, beneficiary, reference };
    }
    after = rows.at(-1)!.number;
  }
}
