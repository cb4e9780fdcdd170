import { listDocumentReviewers } from "../../accounts/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { findAccountOfOfframp } from "../store.ts";

/**
 * The account whose document is reviewed: the operator reviews those of all accounts, an account
 * its own where the operator has delegated it.
 */
export async function findReviewedAccount(
  session: Session,
  reviewer: { account_id: string; is_operator: boolean },
  offramp_id: string,
): Promise<string> {
  const { account_id, is_operator } = reviewer;
  if (is_operator) return (await findAccountOfOfframp(session, offramp_id)) ?? account_id;
  const reviewers = await listDocumentReviewers(session, [account_id]);
  if (reviewers.has(account_id)) return account_id;
  throw new Refusal("insufficient_scope", NOT_DELEGATED);
}

export const NOT_DELEGATED = "The operator reviews the documents of this account.";
