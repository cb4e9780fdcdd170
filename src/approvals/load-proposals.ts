import { listApiKeysById } from "../accounts/api-key-store.ts";
import { openEmail } from "../accounts/person-email.ts";
import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import { listMembersById } from "../accounts/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { readPage } from "../platform/http/list.ts";
import { type Content, ENDED_STATUSES, mayVote, votesElsewhere } from "./model.ts";
import { findContents, listPendingElsewhere, listProposals, type SealedProposal } from "./store.ts";

export type ProposalView = {
  proposal: SealedProposal;
  /** Whether the viewer may vote on it. */
  may_vote: boolean;
  /** Only for voters; null when it can no longer be read. */
  content: Content | null;
};

export type ProposalsView = {
  pending: ProposalView[];
  /** Whether there are more than are shown. */
  has_more: boolean;
  ended: ProposalView[];
  /** Display names for the ids of people and keys. */
  names: ReadonlyMap<string, string>;
};

const PENDING_MAX = 50;
const ENDED_MAX = 25;

/** The account's proposals; for the operator's members also what they vote on elsewhere. */
export async function loadProposals(
  deps: { database: Session; keyring: Keyring; index_key: Buffer },
  session: MemberSession,
): Promise<ProposalsView> {
  const { database, keyring } = deps;
  const { account_id } = session;
  const first = (limit: number) => readPage({ limit }).page;
  const [own, reviews, ended] = await Promise.all([
    listProposals(database, account_id, ["pending"], first(PENDING_MAX)),
    votesElsewhere(session) ? listPendingElsewhere(database, account_id, PENDING_MAX + 1) : [],
    listProposals(database, account_id, ENDED_STATUSES, first(ENDED_MAX)),
  ]);
  const pending = [...own, ...reviews].sort((a, b) => (a.id < b.id ? 1 : -1));
  const shown = [...pending.slice(0, PENDING_MAX), ...ended.slice(0, ENDED_MAX)];
  const mayVoteOn = (proposal: SealedProposal) =>
    mayVote(proposal.voters, { ...proposal, id: proposal.account_id }, session);
  const readable = shown.filter((one) => one.status === "pending" && mayVoteOn(one));
  const contents = await findContents(database, keyring, readable);
  const views = shown.map((proposal) => ({
    proposal,
    may_vote: mayVoteOn(proposal),
    content: contents.get(proposal.id) ?? null,
  }));
  return {
    pending: views.filter(({ proposal }) => proposal.status === "pending"),
    has_more: pending.length > PENDING_MAX,
    ended: views.filter(({ proposal }) => proposal.status !== "pending"),
    names: await loadNames(deps, account_id, shown),
  };
}

/** People are named to members of their own account, and to the operator's. */
async function loadNames(
  { database, index_key }: { database: Session; index_key: Buffer },
  account_id: string,
  shown: readonly SealedProposal[],
): Promise<Map<string, string>> {
  const account_ids = new Set([account_id, ...shown.map((proposal) => proposal.account_id)]);
  const people_ids = shown.flatMap(({ votes, proposed_by_person }) => [
    ...votes.map(({ voter }) => voter.person_id),
    ...(proposed_by_person ? [proposed_by_person] : []),
  ]);
  const key_ids = shown.flatMap(({ proposed_by }) =>
    proposed_by.startsWith("api_key:") ? [proposed_by.slice("api_key:".length)] : [],
  );
  const [people, api_keys] = await Promise.all([
    listMembersById(database, [...account_ids], [...new Set(people_ids)]),
    listApiKeysById(database, key_ids),
  ]);
  return new Map([
    ...api_keys.map((key) => [key.id, `${key.prefix}…${key.last_four}`] as const),
    ...people.map(
      (row) => [row.person_id, openEmail(index_key, row.person_id, row.email)] as const,
    ),
  ]);
}
