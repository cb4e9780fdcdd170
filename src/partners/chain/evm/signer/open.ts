import { readFileSync } from "node:fs";
import type { Config } from "../../../../platform/config/config.ts";
import { StartupError } from "../../../../platform/startup-error.ts";
import { loadSigner, type SignerSettings } from "./load-signer.ts";
import { type LocalSigner, openLocalSigner } from "./local-signer.ts";
import type { Signer } from "./port.ts";
import { openRemoteSigner } from "./remote-signer.ts";

/**
 * The signer of the settings: a process of its own, or the keystore in this process. Throws
 * SignerUnavailable while the other process does not answer.
 */
export async function openConfiguredSigner(config: Config): Promise<Signer> {
  const { signer_file, signer_address, signer_token: token } = config;
  if (signer_address === undefined) return openKeystoreSigner(config);
  if (signer_file !== undefined) {
    throw new StartupError(
      "SLIPROAD_SIGNER_FILE and SLIPROAD_SIGNER_ADDRESS are both set: the keystore belongs to " +
        "the process of sliproad signer alone.",
    );
  }
  if (token === undefined) {
    throw new StartupError("SLIPROAD_SIGNER_TOKEN must be set with SLIPROAD_SIGNER_ADDRESS.");
  }
  const timeout_ms = config.signer_timeout_seconds * 1000;
  return openRemoteSigner({ address: signer_address, token, timeout_ms });
}

/** The signer with its keys in this process. */
export async function openKeystoreSigner(config: Config): Promise<LocalSigner> {
  const { signer_file, signer_passphrase: passphrase } = config;
  if (signer_file === undefined) {
    throw new StartupError(
      "SLIPROAD_SIGNER_FILE is not set: there is no key to sign with. See docs/guides/chains.md.",
    );
  }
  const settings = readSigner(signer_file);
  if (passphrase === undefined) {
    throw new StartupError("SLIPROAD_SIGNER_PASSPHRASE must be set with SLIPROAD_SIGNER_FILE.");
  }
  try {
    return await openLocalSigner(settings, passphrase);
  } catch (error) {
    throw new StartupError(`SLIPROAD_SIGNER_FILE: ${(error as Error).message}`);
  }
}

export function readSigner(path: string): SignerSettings {
  try {
    return loadSigner(path, readFileSync(path, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_SIGNER_FILE: ${(error as Error).message}`);
  }
}
