import type { Core } from "../../app/open-core.ts";
import { reviewWithApproval } from "../../offramps/approved-changes.ts";
import type { Review } from "../../offramps/documents/review-documents.ts";
import { createOfframpRenderer } from "../../offramps/render.ts";
import { findOfframps } from "../../offramps/store.ts";
import { runOnce } from "../../platform/commands/run-once.ts";
import { FIRST_ID, newId } from "../../platform/ids.ts";
import { readInstance } from "../../platform/instance.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { STORED_PRICES } from "../../prices/prices.ts";
import { usdValue } from "../../prices/usd-value.ts";

/** The file that was approved, or is once two members have confirmed the proposal. */
export type Approval = {
  offramp_id: string;
  supporting_document: { status: string; hash: string };
  proposal_id: string | null;
};

/**
 * Approves the document that an offramp has now, a rejected one included, as an operator with a
 * reason. Above the approval amount it becomes a proposal. Undefined where there is no offramp.
 */
export async function approveDocument(
  core: Core,
  key: { account_id: string; id: string },
  { reason, document_hash }: { reason: string; document_hash: string | undefined },
): Promise<Approval | undefined> {
  const { config, database, clock } = core;
  const [row] = await findOfframps(database, [key]);
  if (!row) return undefined;
  // What was replaced since this line is refused: the hash is that of the file named here.
  const hash = document_hash ?? row.document_hash?.toString("hex");
  const requested: Review = {
    status: "approved",
    comment: reason,
    overrides_rejection: true,
    ...(hash ? { document_hash: hash } : {}),
  };
  const now = clock.now();
  const command = {
    id: newId(now),
    account_id: key.account_id,
    // No key has this id.
    credential_id: FIRST_ID,
    input: { user_id: null, quote_id: null, offramp_id: key.id, requested, problems: [] },
    idempotency: null,
    actor: "command line" as const,
  };
  const url = await findPublicUrl(config);
  const review = reviewWithApproval({
    ...core,
    renderer: createOfframpRenderer(() => url, clock),
    policy: { kyc_enforcement: config.kyc_enforcement, documents: config.documents },
    approvals: {
      limit_usd: config.approval_above_usd,
      usdValue: (session) => usdValue(STORED_PRICES, session),
      keyring: core.keyring,
    },
  });
  const verdict = await database.transaction((tx) => runOnce(tx, review, command, now));
  if ("refusal" in verdict) throw new StartupError(verdict.refusal.sentence);
  const { output } = verdict;
  const proposal_id = "proposed" in output ? output.proposed.proposal.id : null;
  const status = proposal_id === null ? "approved" : (row.document_status ?? "not_checked");
  return { offramp_id: key.id, supporting_document: { status, hash: hash! }, proposal_id };
}

/** Where the running service is reached: URLs in events begin with it. */
async function findPublicUrl(config: Core["config"]): Promise<string> {
  const instance = await readInstance(config.data_dir).catch(() => null);
  const standard = config.public_url || `http://${config.host}:${config.port}`;
  return instance?.public_url || standard;
}
