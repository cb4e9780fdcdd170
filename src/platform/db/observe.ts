/** A statement as it is about to be sent. */
export type ObservedStatement = {
  text: string;
  values: readonly unknown[];
  /** The same for all statements of a transaction; each statement without one has its own. */
  transaction: number;
};

type Observer = (statement: ObservedStatement) => void;

let observer: Observer | undefined;
let transactions = 0;

/** For tests that check the statements themselves (`npm run conformance:tenancy`). */
export function observeStatements(next: Observer | undefined): void {
  observer = next;
}

export function newTransactionNumber(): number {
  transactions += 1;
  return transactions;
}

export function observed(transaction: number, text: string, values: readonly unknown[] = []): void {
  observer?.({ text, values, transaction });
}
