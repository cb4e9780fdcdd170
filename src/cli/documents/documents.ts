import type { Command } from "commander";
import { isId } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { withCore } from "../context.ts";
import { findAccountOf } from "../operator.ts";
import { type JsonOption, print } from "../output.ts";

type ApproveOptions = JsonOption & { reason: string; hash?: string; account?: string };

/** Imported on demand, so that other commands start faster. */
const actions = () => import("./actions.ts");

export function addDocumentCommands(program: Command): void {
  program
    .command("documents")
    .description("manage supporting documents of payouts")
    .command("approve")
    .description("approve the document of an offramp, also one that was rejected")
    .argument("<offramp_id>", "the offramp's id")
    .requiredOption("--reason <reason>", "the reason, for the audit log (no personal data)")
    .option("--hash <sha256>", "SHA-256 of the reviewed file; no other file is approved")
    .option("--account <name or id>", "whose offramp it is (default: the first account)")
    .action(async (offramp_id: string, options: ApproveOptions) => {
      const { reason, hash } = options;
      if (reason.trim() === "") throw new StartupError("--reason must not be empty.");
      if (hash !== undefined && !/^[0-9a-f]{64}$/i.test(hash)) {
        throw new StartupError("--hash must be a SHA-256 hash: 64 hexadecimal digits.");
      }
      const { approveOnCommandLine } = await actions();
      const outcome = await withCore(async (core) => {
        const { id: account_id } = await findAccountOf(core, options.account);
        if (!isId(offramp_id)) throw unknown(offramp_id);
        const review = { reason, document_hash: hash?.toLowerCase() };
        return approveOnCommandLine(core, { account_id, id: offramp_id }, review);
      });
      if (!outcome) throw unknown(offramp_id);
      print(options, outcome, [describe(outcome)]);
    });
}

function unknown(offramp_id: string): StartupError {
  return new StartupError(`There is no offramp ${offramp_id} in that account; nothing was done.`);
}

function describe({ supporting_document: { hash }, proposal_id }: Outcome): string {
  if (proposal_id === null) return `Approved the document ${hash}.`;
  return (
    `The payout is above the approval amount: two members must confirm proposal ${proposal_id} ` +
    `on /dashboard/approvals before the document ${hash} is approved.`
  );
}

type Outcome = import("../../offramps/documents/approve-document.ts").DocumentApproval;
