import { readBanks } from "../partners/bank/file-bank/open.ts";
import { readChains } from "../partners/chain/evm/read-chains.ts";
import { checkMail } from "../partners/mail/open-mail.ts";
import { openRateSource, openTokenRateSource } from "../partners/rates/open-rate-source.ts";
import { type Config, liveProblems } from "../platform/config/config.ts";
import { StartupError } from "../platform/startup-error.ts";

/** What a process does: only a worker signs, and only a worker lets money leave. */
type Parts = { worker: boolean };

/** Refuses to start in live mode while settings are missing or wrong; names all of them. */
export function checkLiveSettings(config: Config, parts: Parts): void {
  const problems = listLiveProblems(config, parts);
  if (problems.length === 0) return;
  const lines = problems.map((problem) => `\n- ${problem}`);
  throw new StartupError(`Live mode does not start with these settings:${lines.join("")}`);
}

/**
 * What is missing or wrong in the settings of live mode and the files that they name, one sentence
 * each. Nothing is asked over the network. None in sandbox mode.
 */
export function listLiveProblems(config: Config, parts: Parts): string[] {
  if (config.mode !== "live") return [];
  return [
    ...liveProblems(config),
    ...(config.admin_email === undefined
      ? ["SLIPROAD_ADMIN_EMAIL must be set in live mode: the first member gets mail there."]
      : []),
    ...problemOf(() => checkMail(config)),
    ...problemOf(() => openRateSource(config)),
    ...problemOf(() => openTokenRateSource(config)),
    ...bankProblems(config),
    ...chainProblems(config),
    ...(parts.worker ? [...signerProblems(config), ...restoreProblems(config)] : []),
  ];
}

function bankProblems({ banks_file }: Config): string[] {
  if (banks_file === undefined) {
    return ["SLIPROAD_BANKS_FILE must be set in live mode: it names your accounts at banks."];
  }
  return problemOf(() => readBanks(banks_file));
}

/** Deposits that no payout can use must be refundable, so every chain must be able to send. */
function chainProblems({ chains_file }: Config): string[] {
  if (chains_file === undefined) {
    return ["SLIPROAD_CHAINS_FILE must be set in live mode: it names your chains and wallet."];
  }
  return problemOf(() => {
    const { chains, treasury } = readChains(chains_file);
    const mute = chains.find(({ sending }) => sending === null);
    if (mute) {
      throw new StartupError(
        `SLIPROAD_CHAINS_FILE: chains.${mute.name}.sending must be set in live mode: without it, ` +
          "deposits could not be refunded.",
      );
    }
    if (treasury === null) {
      throw new StartupError("SLIPROAD_CHAINS_FILE: treasury must be set in live mode.");
    }
  });
}

function signerProblems(config: Config): string[] {
  const { signer_address, signer_file, signer_token, signer_passphrase } = config;
  if (signer_address === undefined && signer_file === undefined) {
    return [
      "SLIPROAD_SIGNER_ADDRESS must be set in live mode: it says where the worker finds " +
        "`sliproad signer`, which has the keys.",
    ];
  }
  if (signer_address !== undefined && signer_file !== undefined) {
    return [
      "SLIPROAD_SIGNER_FILE must not be set with SLIPROAD_SIGNER_ADDRESS: only " +
        "`sliproad signer` reads the keystore.",
    ];
  }
  if (signer_address !== undefined && signer_token === undefined) {
    return ["SLIPROAD_SIGNER_TOKEN must be set with SLIPROAD_SIGNER_ADDRESS."];
  }
  if (signer_file !== undefined && signer_passphrase === undefined) {
    return ["SLIPROAD_SIGNER_PASSPHRASE must be set with SLIPROAD_SIGNER_FILE."];
  }
  return [];
}

function restoreProblems({ restore_check_file }: Config): string[] {
  if (restore_check_file !== undefined) return [];
  return [
    "SLIPROAD_RESTORE_CHECK_FILE must be set in live mode: it tells a restored database from the " +
      "current one.",
  ];
}

function problemOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof StartupError) return [error.message];
    throw error;
  }
}
