import { LEDGER_ACCOUNTS } from "../src/ledger/model.ts";
import { POSTINGS, type Posting } from "../src/ledger/posting-kinds.ts";

type Table = (head: string[], rows: string[][]) => string;

/** The chart of accounts and every kind of entry. */
export function postingsPage(table: Table): string[] {
  const accounts = LEDGER_ACCOUNTS.map(({ name, per, side, sign, is_kept, meaning }) => {
    const limit = is_kept ? "never negative, enforced by the database" : "never negative";
    const account = `\`${[name, ...per.map((part) => `<${part}>`)].join(":")}\``;
    return [account, side, sign === "any" ? "any" : limit, meaning];
  });
  const postings = Object.entries<Posting>(POSTINGS).flatMap(([kind, { when, key, lines }]) => [
    `### ${kind}`,
    `${when} Key: \`${key}\`.`,
    table(
      ["side", "account", "amount"],
      lines.map(({ side, account, amount }) => [side, `\`${account}\``, amount]),
    ),
  ]);
  return [
    "Every movement of money is one journal entry. Its lines sum to zero in every currency, and " +
      "its key can be posted once. Creating quotes and offramps moves no money and posts nothing.",
    "## Accounts",
    table(["account", "grows by", "sign", "meaning"], accounts),
    "## Entries",
    ...postings,
  ];
}
