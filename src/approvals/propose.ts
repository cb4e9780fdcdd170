import { isSessionCredential } from "../accounts/member-callers/authenticate-member.ts";
import { actorOf } from "../accounts/model.ts";
import type { Command } from "../platform/commands/use-case.ts";
import { findMissing } from "./kinds.ts";
import {
  type Content,
  type Description,
  digestDescription,
  NOT_DESCRIBED,
  type Proposal,
} from "./model.ts";
import { newProposal } from "./record-proposals.ts";
import type { NewProposal, Proposer } from "./store.ts";

type Proposed = Pick<Proposal, "kind" | "record_id" | "amount_usd" | "summary" | "voters">;

/** A proposal of what a command requests. */
export function propose(
  command: Command<unknown>,
  proposed: Proposed,
  sealed: { content: Content; subject_id: string | null; key: Buffer },
  /** Who created the API keys that requested something. */
  key_creators: ReadonlyMap<string, string>,
  now: Date,
): NewProposal {
  checkDescription(proposed.kind, sealed.content);
  const { account_id, credential_id } = command;
  // What nobody can have seen yet has no votes.
  const proposer = sealed.content.digest === NOT_DESCRIBED ? null : proposerOf(command);
  const proposal = newProposal({ account_id, ...proposed }, actorOf(command), proposer, now);
  const proposed_by_person = memberOf(command) ?? key_creators.get(credential_id) ?? null;
  return { proposal: { ...proposal, proposed_by_person }, proposer, ...sealed };
}

/**
 * The member who proposes on a page that says so: that counts as a confirmation. A request to the
 * API is no vote, also not a member's: nobody saw what two people have to see.
 */
function proposerOf(command: Command<unknown>): Proposer | null {
  const { account_id, credential_id, actor_account_id } = command;
  const person_id = memberOf(command);
  if (person_id === null || isSessionCredential(credential_id)) return null;
  return { account_id: actor_account_id ?? account_id, person_id };
}

/** Null if a program sent it. */
function memberOf({ actor }: Command<unknown>): string | null {
  return actor?.startsWith("member:") ? actor.slice("member:".length) : null;
}

/** Refuses a description that lacks what members have to see. */
export function checkDescription(kind: string, { details }: Content): void {
  const labels = details.map(([label]) => label);
  const missing = findMissing(kind, labels);
  if (missing.length > 0) throw new Error(`${kind} does not show ${missing.join(", ")}`);
}

/** What is stored of a description. */
export function describedContent(description: Description, why: string): Omit<Content, "input"> {
  const { details, context = [] } = description;
  return { details: [...details, ...context], why, digest: digestDescription(description) };
}
