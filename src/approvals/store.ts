import { rolesThatMay } from "../accounts/roles.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { Page } from "../platform/http/list.ts";
import { minorToText } from "../platform/money.ts";
import type { Content, Proposal, ProposalStatus, Vote } from "./model.ts";
import { readPlainData, writePlainData } from "./plain-data.ts";

const USD_DIGITS = 2;
const KEY_VERSION = 1;

/** As stored: the content sealed, with the key of the person whom it concerns or the account's. */
export type SealedProposal = Proposal & { input: Buffer; subject_id: string | null };

type Row = Omit<SealedProposal, "amount_usd"> & { amount_usd: string | null };

const COLUMNS = `account_id, id, kind, record_id, input, subject_id, amount_usd, summary,
  proposed_by, proposed_by_person, status, outcome, created_at, updated_at`;

/**
 * While it can still be confirmed, who is no longer a member or may no longer vote does not count;
 * afterwards it is history.
 */
const COUNT_CONFIRMATIONS = `(
  select count(*)::integer from proposal_votes votes
  left join members on members.account_id = votes.account_id
    and members.person_id = votes.person_id
  where votes.account_id = proposals.account_id and votes.proposal_id = proposals.id
    and votes.verdict = 'confirm'
    and (proposals.status <> 'pending' or members.role = any($1::text[])
      or (members.role is not null and votes.person_id = proposals.proposed_by_person)))`;

export type NewProposal = {
  proposal: Proposal;
  content: Content;
  subject_id: string | null;
  key: Buffer;
};

export function insertProposals(tx: Transaction, added: readonly NewProposal[]): void {
  const proposals = added.map((entry) => entry.proposal);
  tx.write(
    `insert into proposals (${COLUMNS})
     select *, created_at from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::bytea[],
       $6::uuid[], $7::numeric[], $8::text[], $9::text[], $10::uuid[], $11::text[], $12::text[],
       $13::timestamptz[]) as t (account_id, id, kind, record_id, input, subject_id, amount_usd,
       summary, proposed_by, proposed_by_person, status, outcome, created_at)`,
    [
      proposals.map((proposal) => proposal.account_id),
      proposals.map((proposal) => proposal.id),
      proposals.map((proposal) => proposal.kind),
      proposals.map((proposal) => proposal.record_id),
      added.map(sealContent),
      added.map((entry) => entry.subject_id),
      proposals.map(({ amount_usd }) =>
        amount_usd === null ? null : minorToText(amount_usd, USD_DIGITS),
      ),
      proposals.map((proposal) => proposal.summary),
      proposals.map((proposal) => proposal.proposed_by),
      proposals.map((proposal) => proposal.proposed_by_person),
      proposals.map((proposal) => proposal.status),
      proposals.map((proposal) => proposal.outcome),
      proposals.map((proposal) => proposal.created_at),
    ],
  );
}

export async function findProposal(
  session: Session,
  account_id: string,
  id: string,
): Promise<SealedProposal | undefined> {
  const rows = await session.query<Row>(
    `select ${COLUMNS}, ${COUNT_CONFIRMATIONS} as confirmations from proposals
     where account_id = $2 and id = $3`,
    [rolesThatMay("vote"), account_id, id],
  );
  return toProposals(rows)[0];
}

/** How many wait for votes, in all accounts. */
export async function findPendingCount(session: Session): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from proposals where status = 'pending'",
  );
  return row!.count;
}

/** The newest first. */
export async function listProposals(
  session: Session,
  account_id: string,
  statuses: readonly ProposalStatus[] | undefined,
  page: Page,
): Promise<SealedProposal[]> {
  const values = [rolesThatMay("vote"), account_id, page.below_id, page.from_id, page.limit + 1];
  const rows = await session.query<Row>(
    `select ${COLUMNS}, ${COUNT_CONFIRMATIONS} as confirmations from proposals
     where account_id = $2 and id < $3 and id >= $4
       ${statuses ? "and status = any($6::text[])" : ""}
     order by id desc limit $5`,
    statuses ? [...values, statuses] : values,
  );
  return toProposals(rows);
}

/** Whether any waits to be confirmed. */
export async function existsPendingProposal(
  session: Session,
  account_id: string,
): Promise<boolean> {
  const rows = await session.query(
    "select id from proposals where account_id = $1 and status = 'pending' limit 1",
    [account_id],
  );
  return rows.length > 0;
}

/**
 * Locks the row, then reads it in a statement of its own: only that sees the votes of those whom
 * the lock has waited for.
 */
export async function lockProposal(
  tx: Session,
  account_id: string,
  id: string,
): Promise<SealedProposal | undefined> {
  await tx.query("select id from proposals where account_id = $1 and id = $2 for no key update", [
    account_id,
    id,
  ]);
  return findProposal(tx, account_id, id);
}

export function updateProposal(
  tx: Transaction,
  proposal: Pick<Proposal, "account_id" | "id" | "status" | "outcome" | "updated_at">,
): void {
  tx.write(
    `update proposals set status = $3, outcome = $4, updated_at = $5
     where account_id = $1 and id = $2`,
    [proposal.account_id, proposal.id, proposal.status, proposal.outcome, proposal.updated_at],
  );
}

export function insertVotes(
  tx: Transaction,
  votes: readonly (Vote & { account_id: string })[],
): void {
  if (votes.length === 0) return;
  tx.write(
    `insert into proposal_votes (account_id, proposal_id, person_id, verdict, created_at)
     select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])`,
    [
      votes.map((vote) => vote.account_id),
      votes.map((vote) => vote.proposal_id),
      votes.map((vote) => vote.person_id),
      votes.map((vote) => vote.verdict),
      votes.map((vote) => vote.created_at),
    ],
  );
}

/** In the order in which they were given. */
export function listVotes(
  session: Session,
  account_id: string,
  proposal_ids: readonly string[],
): Promise<Vote[]> {
  return session.query<Vote>(
    `select proposal_id, person_id, verdict, created_at from proposal_votes
     where account_id = $1 and proposal_id = any($2::uuid[]) order by created_at, person_id`,
    [account_id, proposal_ids],
  );
}

/** What was proposed, by the proposal's id; absent when the person whom it concerns was erased. */
export async function findContents(
  session: Session,
  keyring: Keyring,
  rows: readonly SealedProposal[],
): Promise<Map<string, Content>> {
  const subjects = rows.flatMap(({ account_id, subject_id }) =>
    subject_id ? [{ account_id, subject_id }] : [],
  );
  const [subject_keys, account_keys] = await Promise.all([
    keyring.openSubjects(session, subjects),
    keyring.openAccounts(
      session,
      rows.map((row) => row.account_id),
    ),
  ]);
  const contents = new Map<string, Content>();
  for (const row of rows) {
    const { account_id, id, subject_id, input } = row;
    const key = subject_id
      ? subject_keys.get(account_id, subject_id)
      : account_keys.get(account_id);
    if (!key) continue;
    const text = open(key, contentPlace(account_id, id), input).toString();
    contents.set(id, readPlainData(text) as Content);
  }
  return contents;
}

function sealContent({ proposal, content, key }: NewProposal): Buffer {
  const plaintext = Buffer.from(writePlainData(content));
  return seal(key, KEY_VERSION, contentPlace(proposal.account_id, proposal.id), plaintext);
}

function contentPlace(account_id: string, record_id: string): Place {
  return { account_id, table: "proposals", column: "input", record_id };
}

function toProposals(rows: readonly Row[]): SealedProposal[] {
  return rows.map((row) => ({
    ...row,
    // The column has two digits: without the point they are cents.
    amount_usd: row.amount_usd === null ? null : BigInt(row.amount_usd.replace(".", "")),
  }));
}
