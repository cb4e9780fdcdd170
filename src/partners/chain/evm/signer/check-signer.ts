import { accessSync, constants } from "node:fs";
import type { Config } from "../../../../platform/config/config.ts";
import { StartupError } from "../../../../platform/startup-error.ts";
import { openKeystore } from "./keystore.ts";
import { openConfiguredSigner, readSigner } from "./open.ts";

type SignerIdentity = { treasury: string; wallet: string };

/**
 * Whose keys the signer of the settings has. A keystore of the worker is opened without its
 * journal, which the running worker has locked.
 */
export async function checkConfiguredSigner(config: Config): Promise<SignerIdentity> {
  const { signer_file, signer_passphrase } = config;
  if (signer_file === undefined || signer_passphrase === undefined) {
    const signer = await openConfiguredSigner(config);
    await signer.close();
    return { treasury: signer.treasury, wallet: signer.wallet };
  }
  const { keystore, journal } = readSigner(signer_file);
  try {
    accessSync(journal, constants.R_OK | constants.W_OK);
    const { treasury, wallet } = await openKeystore(keystore, signer_passphrase);
    return { treasury, wallet };
  } catch (error) {
    throw new StartupError(`SLIPROAD_SIGNER_FILE: ${(error as Error).message}`);
  }
}
