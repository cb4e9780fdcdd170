import { listLastAuditRows } from "../accounts/audit-store.ts";
import { PERMISSIONS } from "../accounts/roles.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows, setOf } from "../platform/db/rows.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { Page } from "../platform/http/list.ts";
import { refusePutBack } from "../platform/sealing/put-back.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import { updateVouched } from "../platform/sealing/write-vouched.ts";
import {
  type Content,
  countedVotes,
  type Proposal,
  type ProposalStatus,
  type Vote,
} from "./model.ts";
import { readPlainData, writePlainData } from "./plain-data.ts";
import { listVotes } from "./votes/vote-store.ts";

const KEY_VERSION = 1;

/** As stored: the content is sealed with the key of the person it concerns, or the account's. */
export type SealedProposal = Proposal & {
  input: Buffer;
  subject_id: string | null;
  account_name: string;
  kyc_review_by_account: boolean;
  votes: readonly Vote[];
};

type Row = Omit<SealedProposal, "amount_usd" | "votes" | "confirmations"> & {
  amount_usd: string | null;
};

export const PROPOSALS = vouchedTable(
  "proposals",
  ["account_id", "id"],
  [
    ...["kind", "record_id", "input", "subject_id", "amount_usd", "summary", "proposed_by"],
    ...["proposed_by_person", "voters", "status", "outcome", "created_at", "updated_at"],
  ],
);

const SELECT = `select proposals.*, accounts.name as account_name, accounts.kyc_review_by_account
  from proposals join accounts on accounts.id = proposals.account_id`;

/** The part of the proposal's account that decides who votes. */
export function proposalAccount({ account_id, kyc_review_by_account }: Omit<Row, "amount_usd">) {
  return { id: account_id, kyc_review_by_account };
}

/** The member who proposed it, in the account they are a member of. */
export type Proposer = { account_id: string; person_id: string };

export type NewProposal = {
  proposal: Proposal;
  /** Null when an API key or the command line proposed it. */
  proposer: Proposer | null;
  content: Content;
  subject_id: string | null;
  key: Buffer;
};

export function insertProposals(tx: Transaction, added: readonly NewProposal[]): void {
  insertRows(
    tx,
    "proposals",
    `account_id uuid, id uuid, kind text, record_id uuid, input bytea, subject_id uuid,
     amount_usd numeric, summary text, proposed_by text, proposed_by_person uuid, voters text,
     status text, outcome text, created_at timestamptz, updated_at timestamptz, mac bytea`,
    PROPOSALS.withMacs(
      tx,
      added.map((entry) => {
        const { proposal, subject_id } = entry;
        const { amount_usd: cents, created_at } = proposal;
        const amount_usd = cents === null ? null : withTwoDecimals(cents);
        const input = sealContent(entry);
        return { ...proposal, amount_usd, input, subject_id, updated_at: created_at };
      }),
    ),
  );
}

export async function findProposal(
  session: Session,
  account_id: string,
  id: string,
): Promise<SealedProposal | undefined> {
  return (await toProposals(session, await selectProposal(session, account_id, id)))[0];
}

function selectProposal(session: Session, account_id: string, id: string): Promise<Row[]> {
  return session.query<Row>(`${SELECT} where proposals.account_id = $1 and proposals.id = $2`, [
    ...[account_id, id],
  ]);
}

/** The pending proposal on a record, for kinds that allow one at a time. */
export async function findPendingProposal(
  session: Session,
  { account_id, kind, record_id }: Pick<Proposal, "account_id" | "kind" | "record_id">,
): Promise<SealedProposal | undefined> {
  const rows = await session.query<Row>(
    `${SELECT} where proposals.account_id = $1 and proposals.record_id = $3
       and proposals.kind = $2 and proposals.status = 'pending'`,
    [account_id, kind, record_id],
  );
  return (await toProposals(session, rows))[0];
}

/** Which proposals a list shows. */
export type Chosen = {
  /** Only what this one proposed: whoever proposes much must not hide what others do. */
  by: string | null;
  /** Only those on which this person can vote now, as `waitsFor` decides it for one. */
  person_id: string | null;
};

/** The condition for `Chosen`, whose parameters are the first three of each statement. */
export const IS_CHOSEN = `($1::text is null or proposals.proposed_by = $1)
  and ($2::uuid is null or (proposals.voters <> 'reviewers'
    and not exists (select from proposal_votes votes
      where votes.account_id = proposals.account_id and votes.proposal_id = proposals.id
        and votes.person_id = $2)
    and (proposals.proposed_by_person is distinct from $2
      or not exists (select from proposal_votes votes
        join members on members.account_id = votes.voter_account_id
          and members.person_id = votes.person_id and members.created_at <= votes.created_at
        where votes.account_id = proposals.account_id and votes.proposal_id = proposals.id
          and votes.verdict = 'confirm' and members.role = any($3::text[])))))`;

export function chosenParameters({ by, person_id }: Chosen): unknown[] {
  return [by, person_id, PERMISSIONS.vote.roles];
}

/** Newest first. */
export async function listProposals(
  session: Session,
  account_id: string,
  statuses: readonly ProposalStatus[] | undefined,
  { below_id, from_id, limit }: Page,
  chosen: Chosen = { by: null, person_id: null },
): Promise<SealedProposal[]> {
  const page = [account_id, below_id, from_id, limit + 1];
  const rows = await session.query<Row>(
    `${SELECT} where ${IS_CHOSEN} and proposals.account_id = $4 and proposals.id < $5
       and proposals.id >= $6 ${statuses ? "and proposals.status = any($8::text[])" : ""}
     order by proposals.id desc limit $7`,
    [...chosenParameters(chosen), ...page, ...(statuses ? [statuses] : [])],
  );
  return toProposals(session, rows);
}

/** The pending proposals of other accounts that the operator's members vote on, newest first. */
export async function listPendingElsewhere(
  session: Session,
  operator_id: string,
  { below_id, limit }: Page,
  chosen: Chosen,
): Promise<SealedProposal[]> {
  const rows = await session.query<Row>(
    `${SELECT} where ${IS_CHOSEN} and proposals.account_id <> $4
       and proposals.voters <> 'members' and proposals.status = 'pending' and proposals.id < $5
     order by proposals.id desc limit $6`,
    [...chosenParameters(chosen), operator_id, below_id, limit + 1],
  );
  return toProposals(session, rows);
}

/** The account whose pending proposal the operator's members may vote on. */
export async function findAccountOfPending(
  session: Session,
  id: string,
): Promise<string | undefined> {
  const [row] = await session.query<{ account_id: string }>(
    `select account_id from proposals
     where id = $1 and voters <> 'members' and status = 'pending'`,
    [id],
  );
  return row?.account_id;
}

/** When a proposal was open; `ended_at` is null while it still is. */
export type ProposalTime = { record_id: string; created_at: Date; ended_at: Date | null };

/** When proposals of these kinds about the records were open, by record, the oldest first. */
export async function listProposalTimes(
  session: Session,
  kinds: readonly string[],
  records: readonly { account_id: string; id: string }[],
): Promise<Map<string, ProposalTime[]>> {
  if (records.length === 0) return new Map();
  const wanted = setOf(session, "wanted", "account_id uuid, id uuid", records);
  const rows = await session.query<ProposalTime>(
    `select record_id, created_at,
       case when status in ('pending', 'confirmed') then null else updated_at end as ended_at
     from ${wanted.from} join proposals on proposals.account_id = wanted.account_id
       and proposals.record_id = wanted.id and proposals.kind = any($3::text[])
     order by proposals.id`,
    [...wanted.values, kinds],
  );
  return Map.groupBy(rows, (row) => row.record_id);
}

/**
 * Locks the row, then reads it in a separate statement: only that one sees the votes committed
 * while this one waited for the lock. Fails if somebody changed it, or put it back after its end.
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
  const records = [{ account_id, record: `proposal:${id}` }];
  const [found, [ended]] = await Promise.all([
    selectProposal(tx, account_id, id),
    listLastAuditRows(tx, records, ENDED_BY),
  ]);
  const rows = PROPOSALS.assertVouched(tx, found);
  const is_open = rows.some(({ status }) => status === "pending" || status === "confirmed");
  if (is_open && ended) refusePutBack(tx, { table: PROPOSALS.table, key: [account_id, id] });
  return (await toProposals(tx, rows))[0];
}

/** What the audit log says of a proposal that has ended: put back, it could be done again. */
const ENDED_BY = ["reject", "void", "lapsed", "done", "failed"].map((end) => `proposal.${end}`);

export function updateProposal(
  tx: Transaction,
  proposal: Pick<Proposal, "account_id" | "id" | "status" | "outcome" | "updated_at">,
): void {
  const { account_id, id, status, outcome, updated_at } = proposal;
  updateVouched(tx, PROPOSALS, { account_id, id }, { status, outcome, updated_at });
}

/** The content by proposal id; absent when the person it concerns was erased. */
export async function findContents(
  session: Session,
  keyring: Keyring,
  rows: readonly SealedProposal[],
): Promise<Map<string, Content>> {
  const keyOf = await keyring.openOwners(session, rows);
  const contents = new Map<string, Content>();
  for (const row of rows) {
    const { account_id, id, input } = row;
    const key = keyOf(row);
    if (!key) continue;
    const text = open(key, contentPlace(account_id, id), input).toString();
    contents.set(id, readPlainData(text) as Content);
  }
  return contents;
}

/** For a proposal on which nobody has voted. */
export function updateContent(tx: Transaction, changed: ToSeal, now: Date): void {
  const { account_id, id } = changed.proposal;
  const changes = { input: sealContent(changed), updated_at: now };
  updateVouched(tx, PROPOSALS, { account_id, id }, changes);
}

/** As the column returns it, which the MAC covers. */
function withTwoDecimals(cents: bigint): string {
  const digits = String(cents).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

type ToSeal = Pick<NewProposal, "content" | "key"> & { proposal: Proposal };

function sealContent({ proposal, content, key }: ToSeal): Buffer {
  const plaintext = Buffer.from(writePlainData(content));
  return seal(key, KEY_VERSION, contentPlace(proposal.account_id, proposal.id), plaintext);
}

function contentPlace(account_id: string, record_id: string): Place {
  return { account_id, table: "proposals", column: "input", record_id };
}

async function toProposals(session: Session, rows: readonly Row[]): Promise<SealedProposal[]> {
  const votes_of = await listVotes(session, rows);
  return rows.map((row) => {
    const votes = votes_of.get(row.id) ?? [];
    const account = proposalAccount(row);
    return {
      ...row,
      // The column has two decimals: without the point the digits are cents.
      amount_usd: row.amount_usd === null ? null : BigInt(row.amount_usd.replace(".", "")),
      votes,
      confirmations: countedVotes(row, account, votes).length,
    };
  });
}
