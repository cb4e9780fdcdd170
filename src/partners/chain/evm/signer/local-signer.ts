import { checkAction, checkFees } from "./check-request.ts";
import { openHistory } from "./history.ts";
import { openJournal } from "./journal.ts";
import type { Keys } from "./keys.ts";
import { openKeystore } from "./keystore.ts";
import type { SignerSettings } from "./load-signer.ts";
import { type Signer, SigningRefused, type SignRequest } from "./port.ts";
import { parseRequest, requestText } from "./request-text.ts";
import {
  assemble,
  authorizationDigest,
  type Signatures,
  transactionDigest,
} from "./transaction.ts";

/** `signatures` is what leaves the process of a signer that runs alone. */
export type LocalSigner = Signer & { signatures(request_text: string): Signatures };

/** Signs with the keys of a keystore file. Throws a sentence that begins with the file's name. */
export async function openLocalSigner(
  settings: SignerSettings,
  passphrase: string,
): Promise<LocalSigner> {
  const keys = await about(settings.keystore, openKeystore(settings.keystore, passphrase));
  return createLocalSigner(keys, settings, () => new Date());
}

export async function createLocalSigner(
  keys: Keys,
  settings: SignerSettings,
  now: () => Date,
): Promise<LocalSigner> {
  const { treasury, wallet } = keys;
  const journal = await about(settings.journal, openJournal(settings.journal, keys.journal_key));
  const history = openHistory(journal, treasury);

  // Without a pause between check, journal and signature: two requests never mix.
  const signatures = (request_text: string): Signatures => {
    const request = read(request_text);
    const chain = settings.chains.get(request.chain_id);
    if (!chain) {
      throw new SigningRefused(`The signer's file does not have chain ${request.chain_id}.`);
    }
    checkFees(keys, chain, request);
    // Once signed it stays so, also if the limits are lower now: whoever asks again may not have
    // received the first answer.
    if (!history.has(request)) {
      checkAction(keys, chain, request);
      history.record(chain, request, now());
    }
    const { action } = request;
    const authorization =
      action.kind === "sweep_with_authorization"
        ? keys.sign({ ...action, kind: "deposit" }, authorizationDigest(action, treasury))
        : null;
    const digest = transactionDigest(request, treasury, authorization);
    return { authorization, transaction: keys.sign(request.key, digest) };
  };
  return {
    ...{ treasury, wallet, signatures },
    sign: async (request) => assemble(request, treasury, signatures(requestText(request))),
    close: () => journal.close(),
  };
}

async function about<Opened>(path: string, opening: Promise<Opened>): Promise<Opened> {
  try {
    return await opening;
  } catch (error) {
    throw new Error(`${path} ${(error as Error).message}.`);
  }
}

function read(request_text: string): SignRequest {
  try {
    return parseRequest(request_text);
  } catch (error) {
    throw new SigningRefused((error as Error).message);
  }
}
