import { listApiKeysById } from "../accounts/api-key-store.ts";
import { openEmail } from "../accounts/person-email.ts";
import { listMembersById } from "../accounts/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { type Page, readPage } from "../platform/http/list.ts";
import { type Content, ENDED_STATUSES, mayVote, type Voter, votesElsewhere } from "./model.ts";
import { listProposerCounts, type ProposerCount } from "./pending-store.ts";
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
  /** The last one shown, if there are older ones. */
  last_id: string | null;
  /** Only where not all that wait are shown. */
  proposers: ProposerCount[];
  ended: ProposalView[];
  /** Display names for the ids of people and keys. */
  names: ReadonlyMap<string, string>;
};

/** Which of the pending proposals to show. */
type Shown = {
  starting_after: string | null;
  /** Only what this one proposed: whoever proposes much must not hide what others do. */
  by: string | null;
};

const PENDING_MAX = 50;
const ENDED_MAX = 25;
const PROPOSERS_MAX = 50;

type Deps = { database: Session; keyring: Keyring; index_key: Buffer };

/** The account's proposals; for the operator's members also what they vote on elsewhere. */
export async function loadProposals(
  deps: Deps,
  session: Voter,
  { starting_after, by }: Shown,
): Promise<ProposalsView> {
  const { database } = deps;
  const { account_id } = session;
  const page = pageAfter(starting_after, PENDING_MAX);
  const is_elsewhere = votesElsewhere(session);
  const [own, reviews, ended] = await Promise.all([
    listProposals(database, account_id, ["pending"], page, by),
    is_elsewhere ? listPendingElsewhere(database, account_id, page, by) : [],
    listProposals(database, account_id, ENDED_STATUSES, pageAfter(null, ENDED_MAX)),
  ]);
  const pending = [...own, ...reviews].sort((a, b) => (a.id < b.id ? 1 : -1));
  const has_more = pending.length > PENDING_MAX;
  const is_part = has_more || starting_after !== null || by !== null;
  const proposers = is_part
    ? await listProposerCounts(database, account_id, is_elsewhere, PROPOSERS_MAX)
    : [];
  const shown = [...pending.slice(0, PENDING_MAX), ...ended.slice(0, ENDED_MAX)];
  const views = await toViews(deps, session, shown);
  return {
    pending: views.filter(({ proposal }) => proposal.status === "pending"),
    last_id: has_more ? pending[PENDING_MAX - 1]!.id : null,
    proposers,
    ended: views.filter(({ proposal }) => proposal.status !== "pending"),
    names: await loadNames(deps, account_id, shown, proposers),
  };
}

/** The account's proposals that were decided or lapsed, newest first. */
export async function loadEndedProposals(
  deps: Deps,
  session: Voter,
  starting_after: string | null,
): Promise<Pick<ProposalsView, "ended" | "last_id" | "names">> {
  const page = pageAfter(starting_after, ENDED_MAX);
  const found = await listProposals(deps.database, session.account_id, ENDED_STATUSES, page);
  const shown = found.slice(0, ENDED_MAX);
  return {
    ended: await toViews(deps, session, shown),
    last_id: found.length > ENDED_MAX ? shown.at(-1)!.id : null,
    names: await loadNames(deps, session.account_id, shown, []),
  };
}

function pageAfter(starting_after: string | null, limit: number): Page {
  const after = starting_after === null ? {} : { starting_after };
  return readPage({ limit, ...after }).page;
}

/** With their content where it is still to be judged, for those who may. */
async function toViews(
  { database, keyring }: Deps,
  session: Voter,
  shown: readonly SealedProposal[],
): Promise<ProposalView[]> {
  const mayVoteOn = (proposal: SealedProposal) =>
    mayVote(proposal.voters, { ...proposal, id: proposal.account_id }, session);
  const readable = shown.filter((one) => one.status === "pending" && mayVoteOn(one));
  const contents = await findContents(database, keyring, readable);
  return shown.map((proposal) => ({
    proposal,
    may_vote: mayVoteOn(proposal),
    content: contents.get(proposal.id) ?? null,
  }));
}

/** People are named to members of their own account, and to the operator's. */
async function loadNames(
  { database, index_key }: { database: Session; index_key: Buffer },
  account_id: string,
  shown: readonly SealedProposal[],
  proposers: readonly ProposerCount[],
): Promise<Map<string, string>> {
  const account_ids = new Set([account_id, ...shown.map((proposal) => proposal.account_id)]);
  const actors = [...shown, ...proposers].map(({ proposed_by }) => proposed_by);
  const idsOf = (kind: string) =>
    actors.filter((actor) => actor.startsWith(kind)).map((actor) => actor.slice(kind.length));
  const people_ids = shown.flatMap(({ votes, proposed_by_person }) => [
    ...votes.map(({ voter }) => voter.person_id),
    ...(proposed_by_person ? [proposed_by_person] : []),
  ]);
  people_ids.push(...idsOf("member:"));
  const key_ids = idsOf("api_key:");
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
