import type { Command } from "commander";
import { findOperator } from "../accounts/store.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { minorToText, parseAmount } from "../platform/money.ts";
import { StartupError } from "../platform/startup-error.ts";
import { readExposures } from "../prices/exposure.ts";
import { readMarketRisk } from "../prices/operator-files.ts";
import { STORED_PRICES } from "../prices/price-book.ts";
import { withCore } from "./context.ts";
import { byOperator } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type ExposureLine = {
  currency: string;
  amount: string;
  amount_usd: string | null;
  /** From the operator's file; null without a maximum. */
  amount_max_usd: string | null;
};
type ConvertOptions = JsonOption & {
  bought: string;
  sold: string;
  reference: string;
  reason: string;
};

export function addExposureCommands(program: Command): void {
  const exposure = program
    .command("exposure")
    .description("show and reduce the open positions in currencies and tokens");

  exposure
    .command("list")
    .description("list the open positions; an amount above zero has to be bought")
    .action(async (options: JsonOption) => {
      const exposures = await withCore(({ database, config }) =>
        readExposures(database, { prices: STORED_PRICES, risk: readMarketRisk(config) }),
      );
      const rows = exposures.map(({ currency, amount, usd, usd_max }) => ({
        currency,
        amount: minorToText(amount, minorDigits(currency)!),
        amount_usd: usd === null ? null : minorToText(usd, 2),
        amount_max_usd: usd_max === null ? null : minorToText(usd_max, 2),
      }));
      print(options, { exposures: rows }, rows.length > 0 ? rows.map(line) : ["None."]);
    });

  exposure
    .command("convert")
    .description("record that you bought and sold on the market")
    .requiredOption("--bought <amount>", "amount and currency, e.g. 1000:eur")
    .requiredOption("--sold <amount>", "amount and currency, e.g. 1163:usdc")
    .requiredOption("--reference <reference>", "the trade's own number; each is recorded once")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (options: ConvertOptions) => {
      const bought = readMoney("--bought", options.bought);
      const sold = readMoney("--sold", options.sold);
      if (bought.currency === sold.currency) {
        throw new StartupError("--bought and --sold must have different currencies.");
      }
      if (!/^[\w.-]{1,100}$/.test(options.reference)) {
        throw new StartupError("--reference must be 1 to 100 letters, digits, dots, _ or -.");
      }
      const { recordConversion } = await import("../prices/record-conversion.ts");
      const { reference, reason } = options;
      const recorded = await withCore(async ({ database, clock }) => {
        const { id: account_id } = (await findOperator(database))!;
        const conversion = { account_id, reference, bought, sold };
        return recordConversion(database, conversion, byOperator(reason), clock.now());
      });
      if (!recorded) throw new StartupError(`The conversion ${reference} is already recorded.`);
      print(options, { conversion: { reference, bought: options.bought, sold: options.sold } }, [
        `Recorded ${reference}: bought ${options.bought}, sold ${options.sold}.`,
      ]);
    });
}

function line({ currency, amount, amount_usd, amount_max_usd }: ExposureLine): string {
  const worth = amount_usd === null ? "no rate" : `${amount_usd} usd`;
  const maximum = amount_max_usd === null ? "" : ` of at most ${amount_max_usd} usd`;
  return `${currency}  ${amount}  (${worth}${maximum})`;
}

/** `1000:eur` */
function readMoney(option: string, text: string): { currency: string; amount: bigint } {
  const [amount_text, currency = ""] = text.split(":");
  const digits = minorDigits(currency);
  const amount = digits === undefined ? null : parseAmount(amount_text, digits);
  if (amount && "value" in amount) return { currency, amount: amount.value };
  throw new StartupError(`${option} must be an amount and a currency or token, such as 1000:eur.`);
}
