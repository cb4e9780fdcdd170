import { findOperator } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { openLimitDeps } from "../../limits/load-limits.ts";
import {
  approveDocument,
  type DocumentApproval,
} from "../../offramps/documents/approve-document.ts";
import { createOfframpRenderer } from "../../offramps/render.ts";
import { Refusal } from "../../platform/errors.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { approvalRules } from "../../prices/approval-rules.ts";
import { STORED_PRICES } from "../../prices/price-book.ts";
import { findPublicUrl } from "../public-url.ts";

/** Approves an offramp's document as the operator. Undefined when there is no such offramp. */
export async function approveOnCommandLine(
  core: Core,
  key: { account_id: string; id: string },
  { reason, document_hash }: { reason: string; document_hash: string | undefined },
): Promise<DocumentApproval | undefined> {
  const { config, clock } = core;
  const url = await findPublicUrl(config);
  const deps = {
    ...core,
    renderer: createOfframpRenderer(() => url, clock),
    policy: config,
    approvals: approvalRules({ ...core, public_url: () => url }, STORED_PRICES),
    limits: openLimitDeps(STORED_PRICES, () => clock.now()),
  };
  try {
    return await approveDocument(deps, key, {
      ...{ reason, document_hash, actor: "command line" as const },
      reviewer_account_id: (await findOperator(core.database))!.id,
    });
  } catch (error) {
    throw error instanceof Refusal ? new StartupError(error.sentence) : error;
  }
}
