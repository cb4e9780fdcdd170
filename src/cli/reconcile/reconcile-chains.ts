import { findOperator } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { ledgerDigits } from "../../ledger/model.ts";
import { isAlreadyPosted } from "../../ledger/post-entries.ts";
import { Disagreement } from "../../partners/chain/evm/check-transfers.ts";
import type { EvmChain, EvmSettings } from "../../partners/chain/evm/model.ts";
import { openNodes } from "../../partners/chain/evm/open.ts";
import { readChains } from "../../partners/chain/evm/read-chains.ts";
import { ChainUnavailable } from "../../partners/chain/port.ts";
import { minorToText } from "../../platform/money.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { bookOwnTransfers } from "../../reconcile/book-own-transfers.ts";
import { type Reconciled, reconcileChain } from "../../reconcile/reconcile-chain.ts";
import { byOperator } from "../operator.ts";

/** Without `chain`, all chains of the chains file. */
type Options = { chain?: string; book?: true; reason?: string };
type Result = Reconciled & { chain: string; booked: string[] };

/** What was found on chains: whether nothing differs, the document, and the lines of text. */
export async function reconcileChains(core: Core, options: Options) {
  const results = await reconcileAll(core, options);
  return {
    is_same: results.every(({ compared, booked }) => booked.length > 0 || compared.every(isSame)),
    document: results.map(toDocument),
    lines: results.flatMap(describe),
  };
}

async function reconcileAll(core: Core, options: Options): Promise<Result[]> {
  const { config, database, clock } = core;
  if (config.chains_file === undefined) {
    throw new StartupError("SLIPROAD_CHAINS_FILE is not set: there is no real chain.");
  }
  const settings = readChains(config.chains_file);
  const chosen = settings.chains.filter(
    ({ name }) => options.chain === undefined || options.chain === name,
  );
  if (chosen.length === 0) throw new StartupError(`The file has no chain ${options.chain}.`);
  const { id: account_id } = (await findOperator(database))!;
  const results: Result[] = [];
  for (const chain of chosen) {
    const found = await reconcile(core, chain, settings);
    const by = { account_id, ...byOperator(options.reason ?? "") };
    const booked = options.book
      ? await bookOwnTransfers(database, chain.name, found, by, clock.now()).catch(refuseTwice)
      : [];
    results.push({ chain: chain.name, ...found, booked });
  }
  return results;
}

async function reconcile(core: Core, chain: EvmChain, settings: EvmSettings) {
  try {
    return await reconcileChain(core, openNodes(chain), settings);
  } catch (error) {
    if (!(error instanceof ChainUnavailable) && !(error instanceof Disagreement)) throw error;
    throw new StartupError(`${chain.name} cannot be compared: ${error.message}.`);
  }
}

function refuseTwice(error: unknown): never {
  if (!isAlreadyPosted(error)) throw error;
  throw new StartupError("A difference was booked at this block already; run it again.");
}

const isSame = ({ unexplained }: Reconciled["compared"][number]) => unexplained === 0n;

function textOf(amount: bigint, currency: string): string {
  return minorToText(amount, ledgerDigits(currency));
}

function toDocument(result: Result) {
  const { chain, block, compared, candidates, booked, unproven, uncredited } = result;
  const toText = ({ currency, amount }: Reconciled["unproven"][number]) => ({
    currency,
    amount: textOf(amount, currency),
  });
  return {
    ...{ chain, block, booked },
    unproven: unproven.map(toText),
    compared: compared.map(({ currency, ...amounts }) => ({
      currency,
      ...Object.fromEntries(
        Object.entries(amounts).map(([name, amount]) => [name, textOf(amount, currency)]),
      ),
    })),
    uncredited: uncredited.map(({ token, contract, address, amount, decimals }) => ({
      ...{ token, contract, address },
      amount: minorToText(amount, decimals),
    })),
    candidates: candidates.map((one) => ({ ...one, amount: textOf(one.amount, one.currency) })),
  };
}

const KINDS: Readonly<Record<Reconciled["candidates"][number]["kind"], string>> = {
  not_credited: "read, and about to be credited",
  credited_after: "credited after this block",
  finding: "not credited, or credited and gone; see sliproad chains findings",
  not_posted: "sent, and about to be posted",
  posted_after: "sent after this block",
};

function describe(result: Result): string[] {
  const { chain, block, compared, candidates, booked, unproven, uncredited } = result;
  return [
    ...compared.map((one) => {
      const { currency, ledger, on_chain, unexplained } = one;
      const amounts = `ledger ${textOf(ledger, currency)}, chain ${textOf(on_chain, currency)}`;
      const verdict = isSame(one)
        ? "nothing found"
        : booked.includes(currency)
          ? `booked ${textOf(unexplained, currency)}`
          : `DIFFERENT by ${textOf(unexplained, currency)}`;
      return `${chain} block ${block}  ${currency}: ${amounts}: ${verdict}`;
    }),
    ...unproven.map(
      ({ currency, amount }) =>
        `  ${textOf(amount, currency)} ${currency}  of it at addresses of earlier keys; the ` +
        "chains file does not prove that they are yours",
    ),
    ...uncredited.map(
      ({ token, contract, address, amount, decimals }) =>
        `  ${minorToText(amount, decimals)} ${token}  not credited to anybody: the token of ` +
        `${contract}\n    at ${address}`,
    ),
    ...candidates.map(
      ({ kind, currency, amount, tx_id, is_late }) =>
        `  ${textOf(amount, currency)} ${currency}  ${KINDS[kind]}` +
        `${is_late && kind !== "finding" ? ", for more than an hour" : ""}\n    ${tx_id}`,
    ),
  ];
}
