import { CONFIRMATIONS_NEEDED, type ProposalStatus } from "../approvals/model.ts";
import { formatDecimal, parseDecimal } from "../platform/money.ts";
import { type Check, eachPage } from "./checks.ts";

type Row = {
  id: string;
  kind: string;
  record_id: string;
  amount_usd: string | null;
  status: ProposalStatus;
};
type Entry = { record: string; actor: string; action: string; detail: string };

/** What the audit log must contain for a proposal in this state, besides its creation. */
const ENDS: Record<ProposalStatus, string | null> = {
  pending: null,
  confirmed: null,
  rejected: "proposal.reject",
  void: "proposal.void",
  lapsed: "proposal.lapsed",
  done: "proposal.done",
  failed: "proposal.failed",
};

/**
 * Compares proposals with the sealed audit log: the proposal is unchanged, it ended as recorded,
 * and an executed one involved two different members.
 */
export const verifyProposals: Check = async (session, account_id) => {
  let seen = 0;
  const fault = await eachPage<Row>(
    session,
    account_id,
    `select id, kind, record_id, amount_usd, status from proposals
     where account_id = $1 and id > $2 order by id limit $3`,
    async (rows) => {
      seen += rows.length;
      const entries = await session.query<Entry>(
        `select record, actor, action, detail from audit_entries
         where account_id = $1 and record = any($2::text[])`,
        [account_id, rows.map((row) => `proposal:${row.id}`)],
      );
      const by_record = Map.groupBy(entries, (entry) => entry.record);
      for (const row of rows) {
        const wrong = faultOf(row, by_record.get(`proposal:${row.id}`) ?? []);
        if (wrong) return `proposal ${row.id} of account ${account_id}: ${wrong}`;
      }
      return null;
    },
  );
  if (fault) return fault;
  const [created] = await session.query<{ count: bigint }>(
    "select count(*) from audit_entries where account_id = $1 and action = 'proposal.create'",
    [account_id],
  );
  return created!.count === BigInt(seen)
    ? null
    : `account ${account_id} has ${seen} proposals, but ${created!.count} were created`;
};

function faultOf(row: Row, entries: readonly Entry[]): string | null {
  const created = entries.filter(({ action }) => action === "proposal.create");
  const facts = created[0] && JSON.parse(created[0].detail);
  // The column always has two decimals, the log only the significant ones.
  const amount_usd = row.amount_usd && formatDecimal(parseDecimal(row.amount_usd)!);
  if (
    created.length !== 1 ||
    facts.kind !== row.kind ||
    facts.record_id !== row.record_id ||
    facts.amount_usd !== amount_usd
  ) {
    return "it differs from what was proposed";
  }
  const ends = entries.filter(({ action }) => Object.values(ENDS).includes(action));
  if (ends.map(({ action }) => action).join() !== (ENDS[row.status] ?? "")) {
    return `its status ${row.status} differs from the recorded one`;
  }
  const members = entries.filter(
    ({ action, actor }) =>
      ["proposal.create", "proposal.confirm"].includes(action) && actor.startsWith("member:"),
  );
  const agreed = new Set(members.map(({ actor }) => actor)).size;
  const is_agreed_upon = !["pending", "rejected", "void", "lapsed"].includes(row.status);
  return is_agreed_upon && agreed < CONFIRMATIONS_NEEDED
    ? `it was executed with the approval of ${agreed} members`
    : null;
}
