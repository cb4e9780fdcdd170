import { recordAudit } from "../accounts/audit.ts";
import { findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { Disagreement } from "../partners/chain/evm/check-transfers.ts";
import { openNodes } from "../partners/chain/evm/open.ts";
import { readChains } from "../partners/chain/evm/read-chains.ts";
import { NotResumable, type Resumed, resumeChain } from "../partners/chain/evm/resume-chain.ts";
import { resumeSender } from "../partners/chain/evm/send/resume-sender.ts";
import { Misconfigured } from "../partners/chain/evm/verify-nodes.ts";
import { ChainUnavailable } from "../partners/chain/port.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { byOperator } from "./operator.ts";

/** Resumes a chain as the operator; the audit log says why. */
export async function resumeOnCommandLine(
  { config, database, clock }: Core,
  name: string,
  from_block: number | null,
  reason: string,
): Promise<Resumed> {
  const { chain } = readChain(config, name);
  const { id: account_id } = (await findOperator(database))!;
  const record = (tx: Parameters<typeof recordAudit>[0], { after_block, vanished }: Resumed) =>
    recordAudit(
      tx,
      {
        ...{
          account_id,
          ...byOperator(reason),
          action: "chain.resume" as const,
          record: `chain:${name}`,
        },
        detail: { after_block, vanished: vanished.map(({ tx_id }) => tx_id) },
      },
      clock.now(),
    );
  return orSay(() => resumeChain({ database, clock }, openNodes(chain), from_block, record));
}

/** The same for sending on it. */
export async function resumeSendingOnCommandLine(
  { config, database, clock }: Core,
  name: string,
  address: string | null,
  reason: string,
): ReturnType<typeof resumeSender> {
  const { chain, treasury } = readChain(config, name);
  const sender = address?.toLowerCase() ?? treasury;
  if (sender === null) throw new StartupError("The chains file has no treasury.");
  const { id: account_id } = (await findOperator(database))!;
  const act = { account_id, ...byOperator(reason), action: "chain.resume_sending" as const };
  const now = realTime(clock);
  return orSay(() =>
    resumeSender(database, openNodes(chain), sender, now, (tx, { next_nonce, lost }) =>
      recordAudit(
        tx,
        { ...act, record: `chain:${name}`, detail: { next_nonce, lost: [...lost] } },
        clock.now(),
      ),
    ),
  );
}

function readChain({ chains_file }: Core["config"], name: string) {
  const { chains, treasury } = readChains(requireFile(chains_file));
  const chain = chains.find((one) => one.name === name);
  if (!chain) throw new StartupError(`The chains file has no chain ${name}.`);
  return { chain, treasury };
}

async function orSay<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const kinds = [NotResumable, ChainUnavailable, Disagreement, Misconfigured];
    if (!(error instanceof Error) || !kinds.some((kind) => error instanceof kind)) throw error;
    throw new StartupError(error.message.replace(/\.?$/, "."));
  }
}

function requireFile(chains_file: string | undefined): string {
  if (chains_file !== undefined) return chains_file;
  throw new StartupError("SLIPROAD_CHAINS_FILE is not set: there is no real chain.");
}
