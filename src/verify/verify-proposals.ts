import {
  CONFIRMATIONS_NEEDED,
  MEMBER_CHANGES,
  type ProposalStatus,
  type Voters,
} from "../approvals/model.ts";
import { formatDecimal, parseDecimal } from "../platform/money.ts";
import { type Check, eachPage } from "./checks.ts";

type Row = {
  id: string;
  kind: string;
  record_id: string;
  amount_usd: string | null;
  voters: Voters;
  proposed_by: string;
  proposed_by_person: string | null;
  status: ProposalStatus;
};
type Vote = { proposal_id: string; voter_account_id: string; person_id: string; verdict: string };
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
 * Compares proposals with the sealed audit log: the proposal and its votes are unchanged, it ended
 * as recorded, and an executed one was confirmed by those who had to.
 */
export const verifyProposals: Check = async (session, account_id) => {
  let seen = 0;
  const operators = await session.query<{ id: string }>(
    "select id from accounts where is_operator",
  );
  const operator_ids = operators.map(({ id }) => id);
  const fault = await eachPage<Row>(
    session,
    account_id,
    `select id, kind, record_id, amount_usd, voters, proposed_by, proposed_by_person, status
     from proposals where account_id = $1 and id > $2 order by id limit $3`,
    async (rows) => {
      seen += rows.length;
      const [entries, votes] = await Promise.all([
        session.query<Entry>(
          `select record, actor, action, detail from audit_entries
           where account_id = $1 and record = any($2::text[]) order by at, id`,
          [account_id, rows.map((row) => `proposal:${row.id}`)],
        ),
        session.query<Vote>(
          `select proposal_id, voter_account_id, person_id, verdict from proposal_votes
           where account_id = $1 and proposal_id = any($2::uuid[])`,
          [account_id, rows.map((row) => row.id)],
        ),
      ]);
      const by_record = Map.groupBy(entries, (entry) => entry.record);
      const by_proposal = Map.groupBy(votes, (vote) => vote.proposal_id);
      for (const row of rows) {
        const recorded = by_record.get(`proposal:${row.id}`) ?? [];
        const wrong = faultOf(row, recorded, by_proposal.get(row.id) ?? [], operator_ids);
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

function faultOf(
  row: Row,
  entries: readonly Entry[],
  votes: readonly Vote[],
  operator_ids: readonly string[],
): string | null {
  if (!isAsProposed(row, entries)) return "it differs from what was proposed";
  const ends = entries.filter(({ action }) => Object.values(ENDS).includes(action));
  if (ends.map(({ action }) => action).join() !== (ENDS[row.status] ?? "")) {
    return `its status ${row.status} differs from the recorded one`;
  }
  const recorded = entries.flatMap(toVote);
  if (listed(recorded) !== listed(votes)) return "its votes differ from the recorded ones";
  const confirmations = recorded.filter(({ verdict }) => verdict === "confirm");
  const is_agreed_upon = !["pending", "rejected", "void", "lapsed"].includes(row.status);
  if (!is_agreed_upon || (confirmations.length === 1 && isUnopposed(row, entries))) return null;
  return approvalFault(row, confirmations, operator_ids);
}

function isAsProposed(row: Row, entries: readonly Entry[]): boolean {
  const [created, ...others] = entries.filter(({ action }) => action === "proposal.create");
  if (!created || others.length > 0) return false;
  const facts = JSON.parse(created.detail);
  // The column always has two decimals, the log only the significant ones.
  const amount_usd = row.amount_usd && formatDecimal(parseDecimal(row.amount_usd)!);
  return (
    facts.kind === row.kind &&
    facts.record_id === row.record_id &&
    facts.amount_usd === amount_usd &&
    facts.voters === row.voters &&
    facts.proposed_by_person === row.proposed_by_person &&
    created.actor === row.proposed_by
  );
}

/** Of two voters one confirmed, and the other did not object in time. */
function isUnopposed({ kind, proposed_by }: Row, entries: readonly Entry[]): boolean {
  const is_recorded = entries.some(({ action }) => action === "proposal.unopposed");
  return kind === MEMBER_CHANGES && proposed_by === "command line" && is_recorded;
}

type RecordedVote = Omit<Vote, "proposal_id">;

/** A vote as the log has it: whoever proposes as a member confirms by it. */
function toVote({ actor, action, detail }: Entry): RecordedVote[] {
  const verdict = VERDICTS[action];
  const { voter_account_id } = JSON.parse(detail);
  if (!verdict || !voter_account_id || !actor.startsWith("member:")) return [];
  return [{ voter_account_id, person_id: actor.slice("member:".length), verdict }];
}

const VERDICTS: Readonly<Record<string, string>> = {
  "proposal.create": "confirm",
  "proposal.confirm": "confirm",
  "proposal.reject": "reject",
};

function listed(votes: readonly RecordedVote[]): string {
  const texts = votes.map((vote) => [vote.person_id, vote.voter_account_id, vote.verdict].join());
  return texts.sort().join(" ");
}

/** Whether those who had to confirm it did; the last one is not who proposed it. */
function approvalFault(
  { voters, proposed_by_person }: Row,
  confirmations: readonly RecordedVote[],
  operator_ids: readonly string[],
): string | null {
  const agreed = new Set(confirmations.map(({ person_id }) => person_id)).size;
  if (agreed < CONFIRMATIONS_NEEDED)
    return `it was executed with the approval of ${agreed} members`;
  const by_operator = confirmations.some((vote) => operator_ids.includes(vote.voter_account_id));
  if (voters === "with_operator" && !by_operator) {
    return "it was executed without the approval of the operator's members";
  }
  return confirmations.at(-1)!.person_id === proposed_by_person
    ? "the member who proposed it cast the deciding vote"
    : null;
}
