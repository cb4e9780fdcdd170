import { postEntries } from "../ledger/post.ts";
import {
  offrampFailedAfterInstruction,
  offrampFailedBeforeInstruction,
} from "../ledger/postings.ts";
import type { OfframpRule } from "./change-offramps.ts";
import { changeOfframp } from "./record-changes.ts";

/**
 * Gives up a payout that waits or bounced: the whole token amount, fee included, is owed to the
 * user again.
 */
export const refundOfframps: OfframpRule<null, null> = {
  name: "refund-offramps",
  load: async () => null,
  decide: (entry, _command, _extra, now) => {
    if (!["bounced", "ongoing_checks"].includes(entry.offramp.status)) {
      const message = "Only an offramp that bounced or waits in ongoing_checks can be refunded.";
      return [{ field: "offramp_id", code: "invalid_transition", message }];
    }
    const status_message = "Given up; the deposit is kept for the user.";
    return changeOfframp(entry, { status: "failed", status_message }, now);
  },
  record: (tx, changes, _extra, now) => {
    const funded = changes.map(({ offramp }) => offramp).filter((offramp) => offramp.funded_at);
    const entries = funded.map((offramp) =>
      offramp.attempt > 0
        ? offrampFailedAfterInstruction(offramp)
        : offrampFailedBeforeInstruction(offramp),
    );
    postEntries(tx, entries, now);
  },
};
