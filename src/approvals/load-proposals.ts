import { listApiKeysById } from "../accounts/api-key-store.ts";
import type { ApiKey } from "../accounts/model.ts";
import { openEmail } from "../accounts/person-email.ts";
import { may } from "../accounts/roles.ts";
import { listMembersById } from "../accounts/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { type Page, readPage } from "../platform/http/list.ts";
import {
  type Content,
  ENDED_STATUSES,
  mayVote,
  type Voter,
  votesElsewhere,
  waitsFor,
} from "./model.ts";
import { listProposerCounts, type ProposerCount } from "./pending-store.ts";
import {
  findContents,
  listPendingElsewhere,
  listProposals,
  proposalAccount,
  type SealedProposal,
} from "./store.ts";

export type ProposalView = {
  proposal: SealedProposal;
  /** Whether the viewer may vote on it. */
  may_vote: boolean;
  /** Whether the viewer's vote is missing. */
  is_mine: boolean;
  /** Only for voters; null when it can no longer be read. */
  content: Content | null;
};

export type ProposalsView = {
  proposals: ProposalView[];
  /** The last one shown, if there are older ones. */
  last_id: string | null;
  /** Who proposed what the whole list has. */
  proposers: ProposerCount[];
  /** Display names for the ids of people and keys. */
  names: ReadonlyMap<string, string>;
};

/** `mine`: those that wait for the viewer's vote. `decided`: also those that lapsed. */
export const PROPOSAL_LISTS = ["mine", "waiting", "decided"] as const;

/** Which proposals to show. */
type Shown = {
  list: (typeof PROPOSAL_LISTS)[number];
  starting_after: string | null;
  by: string | null;
};

const SHOWN_MAX = 25;
const PROPOSERS_MAX = 1_000;

type Deps = { database: Session; keyring: Keyring; index_key: Buffer };

/** The account's proposals, newest first; what waits elsewhere too for the operator's members. */
export async function loadProposals(
  deps: Deps,
  session: Voter,
  { list, starting_after, by }: Shown,
): Promise<ProposalsView> {
  const { database } = deps;
  const { account_id, person_id } = session;
  const is_mine = list === "mine";
  if (is_mine && !may(session.role, "vote")) return NOTHING;
  const statuses = list === "decided" ? ENDED_STATUSES : ["pending" as const];
  const is_elsewhere = list !== "decided" && votesElsewhere(session);
  const chosen = { by, person_id: is_mine ? person_id : null };
  const page = pageAfter(starting_after, SHOWN_MAX);
  const [own, others, proposers] = await Promise.all([
    listProposals(database, account_id, statuses, page, chosen),
    is_elsewhere ? listPendingElsewhere(database, account_id, page, chosen) : [],
    listProposerCounts(database, account_id, statuses, { ...chosen, is_elsewhere }, PROPOSERS_MAX),
  ]);
  const found = [...own, ...others].sort((a, b) => (a.id < b.id ? 1 : -1));
  const shown = found.slice(0, SHOWN_MAX);
  return {
    proposals: await toViews(deps, session, shown),
    last_id: found.length > SHOWN_MAX ? shown.at(-1)!.id : null,
    proposers,
    names: await loadNames(deps, account_id, shown, proposers),
  };
}

const NOTHING: ProposalsView = { proposals: [], last_id: null, proposers: [], names: new Map() };

function pageAfter(starting_after: string | null, limit: number): Page {
  const after = starting_after === null ? {} : { starting_after };
  return readPage({ limit, ...after }).page;
}

/** With their content, for those who may judge it. */
async function toViews(
  { database, keyring }: Deps,
  session: Voter,
  shown: readonly SealedProposal[],
): Promise<ProposalView[]> {
  const mayVoteOn = (proposal: SealedProposal) =>
    mayVote(proposal.voters, proposalAccount(proposal), session);
  const contents = await findContents(database, keyring, shown.filter(mayVoteOn));
  return shown.map((proposal) => ({
    proposal,
    may_vote: mayVoteOn(proposal),
    is_mine: waitsFor(proposal, proposalAccount(proposal), proposal.votes, session),
    content: contents.get(proposal.id) ?? null,
  }));
}

/** By the name that somebody gave it. */
function nameOfKey({ name, prefix, last_four }: ApiKey): string {
  return `API key ${name || `${prefix}…${last_four}`}`;
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
    ...api_keys.map((key) => [key.id, nameOfKey(key)] as const),
    ...people.map(
      (row) => [row.person_id, openEmail(index_key, row.person_id, row.email)] as const,
    ),
  ]);
}
