import { actorOf } from "../accounts/model.ts";
import type { Command } from "../platform/commands/use-case.ts";
import { findMissing } from "./kinds.ts";
import { type Content, type Description, digestDescription, type Proposal } from "./model.ts";
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
  const proposer = proposerOf(command);
  const proposal = newProposal({ account_id, ...proposed }, actorOf(command), proposer, now);
  const proposed_by_person = proposal.proposed_by_person ?? key_creators.get(credential_id) ?? null;
  return { proposal: { ...proposal, proposed_by_person }, proposer, ...sealed };
}

/** The member who sent the command, if any: proposing counts as a confirmation. */
function proposerOf({ account_id, actor, actor_account_id }: Command<unknown>): Proposer | null {
  if (!actor?.startsWith("member:")) return null;
  const person_id = actor.slice("member:".length);
  return { account_id: actor_account_id ?? account_id, person_id };
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
