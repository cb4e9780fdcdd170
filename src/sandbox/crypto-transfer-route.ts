import { type Chain, isToken, TOKEN_DIGITS, TOKENS, type Token } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import { chainOf } from "../invoices/check-parties.ts";
import { listClaims } from "../invoices/payments/claim-store.ts";
import { CHECK_CLAIM_TASK } from "../invoices/task-kinds.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import { insertWalletTransfer } from "../partners/chain/sandbox-store.ts";
import { checkTxId, sandboxTxId } from "../partners/chain/tx-id.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { newId } from "../platform/ids.ts";
import { minorToNumber, parseAmount } from "../platform/money.ts";
import { type Checked, Problems } from "../platform/problems.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { CryptoTransferAnswer, CryptoTransferBody } from "./schemas.ts";

const writeTransfer = compileRender(CryptoTransferAnswer);

/** Plays a transfer between two wallets that are not ours, such as the payment of an invoice. */
export function addCryptoTransferRoute(
  addRoute: AddRoute,
  deps: { database: Database; clock: Clock; poke: () => void },
): void {
  addRoute({
    method: "POST",
    path: "/sandbox/crypto_transfers",
    operation: "createSandboxCryptoTransfer",
    stores_nothing: true,
    summary: "Create a transfer between two wallets",
    description:
      "The transfer is final immediately. Invoices that were declared paid by it are checked.",
    tag: "Sandbox",
    body: CryptoTransferBody,
    body_example: {
      crypto_transfer: {
        blockchain: "polygon",
        amount: 239.98,
        from: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf",
        to: "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf",
      },
    },
    answer: CryptoTransferAnswer,
    errors: [],
    handle: async ({ body, problems }) => {
      const now = deps.clock.now();
      const checked = readTransfer(body?.crypto_transfer, problems, now);
      if ("problems" in checked) throw Refusal.of(checked.problems);
      const { chain, tx_id, ...rest } = checked.value;
      const mined = await deps.database.transaction(async (tx) => {
        const mined = await insertWalletTransfer(tx, chain, tx_id, rest);
        const claims = await listClaims(tx, chain, tx_id);
        enqueueTasks(
          tx,
          claims.map(({ account_id, invoice_id }) =>
            taskNow(CHECK_CLAIM_TASK, { account_id, id: invoice_id }, now),
          ),
        );
        return mined;
      });
      deps.poke();
      const { token, from, to } = rest;
      return writeTransfer({
        crypto_transfer: {
          ...{ blockchain: chain, tx_id, token, from, to, log_index: mined.log_index },
          amount: minorToNumber(rest.amount, TOKEN_DIGITS),
          mined_at: mined.mined_at.toISOString(),
        },
      });
    },
  });
}

type NewTransfer = {
  chain: Chain;
  tx_id: string;
  token: Token;
  amount: bigint;
  from: string;
  to: string;
  mined_at: Date;
};

function readTransfer(
  // biome-ignore lint/suspicious/noExplicitAny: what the schema refused is read as well.
  input: any,
  already: readonly Problem[],
  now: Date,
): Checked<NewTransfer> {
  const problems = new Problems(already);
  const { invalid } = problems.within("crypto_transfer");
  const chain = chainOf(textOf(input?.blockchain));
  if (!chain) invalid("blockchain", "Send the name of a chain, e.g. polygon.");
  const token = lowerAscii(textOf(input?.token ?? TOKENS[0]));
  if (!isToken(token)) invalid("token", `Send one of: ${TOKENS.join(", ")}.`);
  const parsed = parseAmount(input?.amount, TOKEN_DIGITS);
  if (!("minor" in parsed)) invalid("amount", parsed.reason);
  const mined_at = input?.mined_at === undefined ? now : new Date(textOf(input.mined_at));
  if (Number.isNaN(mined_at.getTime())) invalid("mined_at", "Send an ISO 8601 time.");
  const readAddress = (name: "from" | "to"): string | null => {
    const checked = chain && checkAddress(chain, textOf(input?.[name]));
    if (checked && "reason" in checked) invalid(name, checked.reason);
    return checked && "address" in checked ? checked.address : null;
  };
  const [from, to] = [readAddress("from"), readAddress("to")];
  const named = textOf(input?.tx_id);
  const checked = chain && named ? checkTxId(chain, named) : null;
  if (checked && "reason" in checked) invalid("tx_id", checked.reason);
  if (!chain || !from || !to || !("minor" in parsed) || !isToken(token)) {
    return problems.checked<NewTransfer>(null);
  }
  const tx_id = checked && "tx_id" in checked ? checked.tx_id : sandboxTxId(chain, newId(now));
  return problems.checked({ chain, tx_id, token, amount: parsed.minor, from, to, mined_at });
}
