import { NOT_NOTICED } from "../src/verify/tampering/coverage.ts";
import { NOTICED } from "../src/verify/tampering/noticed.ts";
import { VOUCHED_TABLES } from "../src/verify/verify-rows.ts";

type Table = (head: string[], rows: string[][]) => string;

/** What `verify` notices of changes by SQL, and what it does not. */
export function tamperingPage(table: Table): string[] {
  const names = Object.keys(NOT_NOTICED).sort();
  const unnoticed = names.flatMap((name) =>
    NOT_NOTICED[name]!.map((entry) => [name, entry] as const),
  );
  return [
    "Whoever can write SQL, but has none of the keys, can change every row. `sliproad verify` " +
      "notices what is listed under [noticed](#noticed); what decides about money is also checked " +
      "before it is used, and not used if somebody changed it. A test changes each column of each " +
      "table, deletes a row of each and adds one, and fails if `verify` does not notice it and it " +
      "is not in the list below. A new column must be put into one of the two lists.",
    "A row that is put back together with its MAC to an earlier state is noticed only where " +
      "something that increases says so: balances, logs, payouts (by the end-to-end id), and what " +
      "the audit log or an event names. Before money leaves, these are compared: users (freeze, " +
      "identification, open matches), the freeze of accounts, payment details, offramps, holds of " +
      "payouts, ended proposals, members and revoked keys. Whoever also deletes the last event or audit entry of " +
      "the record is noticed by `sliproad verify` only, whose chain of blocks lists it. Limits, " +
      "approval amounts, what an account reviews itself, and from when a member votes are not " +
      "compared before money leaves; `sliproad verify` compares the limits.",
    "## Not noticed",
    table(
      ["table", "changes", "why"],
      unnoticed.map(([name, { changes, reason }]) => [code(name), changes.join(", "), reason]),
    ),
    "## Noticed",
    "By a MAC, and checked before use:",
    table(
      ["table", "columns"],
      [...VOUCHED_TABLES]
        .sort((a, b) => (a.table < b.table ? -1 : 1))
        .map(({ table: name, key, columns }) => [code(name), [...key, ...columns].join(", ")]),
    ),
    "By other checks: sealed logs, events, balances, sums, keys of encryption, the audit log:",
    table(
      ["table", "changes"],
      Object.entries(NOTICED).map(([name, changes]) => [code(name), changes.join(", ")]),
    ),
  ];
}

function code(text: string): string {
  return `\`${text}\``;
}
