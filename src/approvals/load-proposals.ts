import { openEmail } from "../accounts/person-email.ts";
import type { MemberSession } from "../accounts/sessions.ts";
import { listApiKeysOfAccount, listMembersById } from "../accounts/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { readPage } from "../platform/http/list.ts";
import { type Detail, mayVote, type Proposal, type Vote } from "./model.ts";
import { findContents, listProposals, listVotes } from "./store.ts";

export type ProposalView = {
  proposal: Proposal;
  votes: Vote[];
  /** Only for those who decide; null when what was proposed can no longer be read. */
  details: readonly Detail[] | null;
};

export type ProposalsView = {
  pending: ProposalView[];
  /** Whether there are more of them than are shown. */
  has_more: boolean;
  ended: ProposalView[];
  /** What the ids of people and keys stand for. */
  names: ReadonlyMap<string, string>;
};

const PENDING_MAX = 50;
const ENDED_MAX = 25;
const API_KEYS_MAX = 100;
const ENDED = ["confirmed", "rejected", "done", "failed"] as const;

export async function loadProposals(
  deps: { database: Session; keyring: Keyring; index_key: Buffer },
  session: MemberSession,
): Promise<ProposalsView> {
  const { database, keyring, index_key } = deps;
  const { account_id } = session;
  const first = (limit: number) => readPage({ limit }).page;
  const [pending, ended, api_keys] = await Promise.all([
    listProposals(database, account_id, ["pending"], first(PENDING_MAX)),
    listProposals(database, account_id, ENDED, first(ENDED_MAX)),
    listApiKeysOfAccount(database, account_id, API_KEYS_MAX),
  ]);
  const shown = [...pending.slice(0, PENDING_MAX), ...ended.slice(0, ENDED_MAX)];
  const [votes, contents] = await Promise.all([
    listVotes(
      database,
      account_id,
      shown.map(({ id }) => id),
    ),
    findContents(database, keyring, mayVote(session.role) ? pending : []),
  ]);
  const people_ids = [
    ...votes.map((vote) => vote.person_id),
    ...shown.flatMap(({ proposed_by_person }) => proposed_by_person ?? []),
  ];
  const people = await listMembersById(database, account_id, [...new Set(people_ids)]);
  const views = shown.map((proposal) => ({
    proposal,
    votes: votes.filter((vote) => vote.proposal_id === proposal.id),
    details: contents.get(proposal.id)?.details ?? null,
  }));
  return {
    pending: views.filter(({ proposal }) => proposal.status === "pending"),
    has_more: pending.length > PENDING_MAX,
    ended: views.filter(({ proposal }) => proposal.status !== "pending"),
    names: new Map([
      ...api_keys.map((key) => [key.id, `${key.prefix}…${key.last_four}`] as const),
      ...people.map(
        (row) => [row.person_id, openEmail(index_key, row.person_id, row.email)] as const,
      ),
    ]),
  };
}
