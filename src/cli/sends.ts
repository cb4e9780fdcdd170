import type { Command } from "commander";
import { recordAudit } from "../accounts/audit.ts";
import { findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import type { OpenSend } from "../partners/chain/evm/send/model.ts";
import { CANCELLED } from "../partners/chain/evm/send/model.ts";
import { listOpenSends, updateCancelled } from "../partners/chain/evm/send/send-store.ts";
import { listReportedSenders } from "../partners/chain/evm/send/sender-store.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { withCore } from "./context.ts";
import { byOperator } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type ReasonOption = JsonOption & { reason: string };

const SENDS_SHOWN = 1_000;

export function addSendCommands(program: Command): void {
  const sends = program
    .command("sends")
    .description("see what is being sent on real chains, cancel a transfer, resume sending");

  sends
    .command("list")
    .description("list the addresses that send and the transfers that are not final, oldest first")
    .action(async (options: JsonOption) => {
      const { senders, open } = await withCore(async ({ database }) => ({
        senders: (await listReportedSenders(database)).map(toSenderLine),
        open: (await listOpenSends(database, SENDS_SHOWN)).map(toSendLine),
      }));
      print(options, { senders, sends: open }, [
        ...senders.map(describeSender),
        ...open.map(describeSend),
        ...(senders.length + open.length === 0 ? ["None."] : []),
      ]);
    });

  sends
    .command("cancel")
    .description("cancel a transfer that is not mined yet; its record is told that it was refused")
    .argument("<key>", "the transfer's key, from sliproad sends list")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (key: string, options: ReasonOption) => {
      const state = await withCore((core) => cancel(core, key, options.reason));
      const told =
        state === "refused"
          ? `${key} is cancelled: nothing was sent.`
          : `${key} is being replaced by a transfer of nothing, and cancelled once that is final.`;
      print(options, { key, state }, [told]);
    });

  sends
    .command("resume")
    .description("send on after somebody else used the key of the treasury or of an address")
    .argument("<chain>", "its name in the chains file, e.g. polygon")
    .option("--address <address>", "a deposit address that sends its sweep; default: the treasury")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (name: string, options: ReasonOption & { address?: string }) => {
      const { resumeSendingOnCommandLine } = await import("./resume-chain.ts");
      const { next_nonce, lost } = await withCore((core) =>
        resumeSendingOnCommandLine(core, name, options.address ?? null, options.reason),
      );
      print(options, { chain: name, next_nonce, lost }, [
        `Sending on ${name} goes on with nonce ${next_nonce}.`,
        ...lost.map((key) => `${key} was not sent: another transaction has its nonce.`),
      ]);
    });
}

async function cancel(core: Core, key: string, reason: string): Promise<OpenSend["state"]> {
  const { database, clock } = core;
  const { id: account_id } = (await findOperator(database))!;
  return database.transaction(async (tx) => {
    const state = await updateCancelled(tx, key, CANCELLED, realTime(clock));
    if (state === null) {
      throw new StartupError(`There is no transfer ${key} that could still be cancelled.`);
    }
    const act = { ...byOperator(reason), action: "send.cancel" as const, record: `send:${key}` };
    recordAudit(tx, { account_id, ...act, detail: { state } }, clock.now());
    return state;
  });
}

type SenderLine = ReturnType<typeof toSenderLine>;
type SendLine = ReturnType<typeof toSendLine>;

function toSenderLine(row: Awaited<ReturnType<typeof listReportedSenders>>[number]) {
  const { chain, address, is_treasury, state, state_since, problem } = row;
  return {
    ...{ chain, address, is_treasury, state, state_since, problem },
    next_nonce: row.next_nonce,
    mined_nonce: row.mined_nonce,
    balance_wei: row.balance === null ? null : String(row.balance),
  };
}

function toSendLine(send: OpenSend) {
  const { key, chain, sender, state, nonce, problem, created_at, attempts } = send;
  const { kind } = send.action;
  const tx_ids = attempts.flatMap(({ tx_id }) => (tx_id === null ? [] : [tx_id]));
  const is_cancelled = send.is_cancelled;
  return { key, chain, sender, kind, state, is_cancelled, nonce, problem, created_at, tx_ids };
}

function describeSender({ chain, address, state, problem, ...row }: SenderLine): string {
  const nonces = `nonce ${row.next_nonce ?? "unknown"}, ${row.mined_nonce ?? 0} mined`;
  return `${chain}  ${address}  ${state}  ${nonces}${problem ? `\n  ${problem}` : ""}`;
}

function describeSend({ key, chain, state, nonce, problem, tx_ids }: SendLine): string {
  const place = nonce === null ? "" : `  nonce ${nonce}`;
  return [`${chain}  ${key}  ${state}${place}`, ...(problem ? [problem] : []), ...tx_ids].join(
    "\n  ",
  );
}
