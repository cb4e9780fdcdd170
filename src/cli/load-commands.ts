import type { Command } from "commander";

export type AddCommands = (program: Command) => void;

/**
 * The modules of the commands, by first word, in the order of the help. Each is read only when it
 * is needed: reading all of them takes longer than most commands run.
 */
const MODULES: readonly [words: string, load: () => Promise<AddCommands>][] = [
  ["start api worker", async () => (await import("./start/start.ts")).addStartCommands],
  ["demo", async () => (await import("./demo/demo.ts")).addDemoCommand],
  ["migrate", async () => (await import("./migrate.ts")).addMigrateCommand],
  ["accounts", async () => (await import("./accounts.ts")).addAccountCommands],
  ["keys", async () => (await import("./keys.ts")).addKeyCommands],
  ["members", async () => (await import("./members.ts")).addMemberCommands],
  ["outbox", async () => (await import("./outbox.ts")).addOutboxCommand],
  ["apps", async () => (await import("./apps/apps.ts")).addAppCommands],
  ["events", async () => (await import("./events.ts")).addEventCommands],
  ["listen", async () => (await import("./listen.ts")).addListenCommand],
  ["trigger", async () => (await import("./trigger/trigger.ts")).addTriggerCommand],
  ["exceptions", async () => (await import("./exceptions/exceptions.ts")).addExceptionCommands],
  ["exports", async () => (await import("./exports.ts")).addExportCommands],
  ["exposure", async () => (await import("./exposure.ts")).addExposureCommands],
  ["payouts", async () => (await import("./payouts/payouts.ts")).addPayoutCommands],
  ["limits", async () => (await import("./limits.ts")).addLimitCommands],
  ["screening", async () => (await import("./screening.ts")).addScreeningCommands],
  ["rates", async () => (await import("./rates.ts")).addRateCommands],
  ["wallet", async () => (await import("./wallet.ts")).addWalletCommands],
  ["signer", async () => (await import("./signer.ts")).addSignerCommand],
  ["sends", async () => (await import("./sends.ts")).addSendCommands],
  ["chains", async () => (await import("./chains.ts")).addChainCommands],
  ["banks", async () => (await import("./banks/banks.ts")).addBankCommands],
  ["documents", async () => (await import("./documents/documents.ts")).addDocumentCommands],
  ["users", async () => (await import("./users.ts")).addUserCommands],
  ["travel", async () => (await import("./travel/travel.ts")).addTravelCommands],
  ["reconcile", async () => (await import("./reconcile/reconcile.ts")).addReconcileCommand],
  ["treasury", async () => (await import("./reconcile/treasury.ts")).addTreasuryCommands],
  ["rejected", async () => (await import("./rejected.ts")).addRejectedCommands],
  ["verify", async () => (await import("./verify.ts")).addVerifyCommand],
  ["archive", async () => (await import("./archive.ts")).addArchiveCommand],
  ["backup restore", async () => (await import("./backup/backup.ts")).addBackupCommands],
  ["files", async () => (await import("./files.ts")).addFileCommands],
  ["doctor", async () => (await import("./doctor/doctor.ts")).addDoctorCommand],
  ["completion", async () => (await import("./completion.ts")).addCompletionCommand],
];

/** The commands that begin with this word; all of them for any other word: help, an error. */
export async function loadCommands(word?: string): Promise<AddCommands[]> {
  // Completion prints all commands.
  const needed = MODULES.filter(
    ([words]) => word !== "completion" && words.split(" ").includes(word ?? ""),
  );
  return Promise.all((needed.length > 0 ? needed : MODULES).map(([, load]) => load()));
}
