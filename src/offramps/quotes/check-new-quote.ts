import { type Catalogue, chainsOf, tokensOn } from "../../catalogue/catalogue.ts";
import type { Chain, Token } from "../../catalogue/chains.ts";
import { lowerAscii, textOf } from "../../catalogue/text.ts";
import type { Problem } from "../../platform/errors.ts";
import { type Checked, Problems } from "../../platform/problems.ts";

export type WantedQuote = { deposit_token: Token; deposit_token_chain: Chain };

/** Checks the body of a new quote. */
export function checkNewQuote(
  input: { deposit_token?: unknown; deposit_token_chain?: unknown } | undefined,
  catalogue: Catalogue,
  found: readonly Problem[],
): Checked<WantedQuote> {
  const problems = new Problems(found);
  const tokens = tokensOn(catalogue, input?.deposit_token_chain);
  const deposit_token = readWord(problems, "deposit_token", input?.deposit_token, tokens);
  const deposit_token_chain = readWord(
    problems,
    "deposit_token_chain",
    input?.deposit_token_chain,
    chainsOf(catalogue),
  );
  return problems.checked(
    deposit_token && deposit_token_chain && { deposit_token, deposit_token_chain },
  );
}

function readWord<Word extends string>(
  problems: Problems,
  name: string,
  value: unknown,
  words: readonly Word[],
): Word | undefined {
  const text = lowerAscii(textOf(value));
  const word = words.find((known) => known === text);
  const message = `Send one of ${words.join(", ")}.`;
  if (word === undefined) {
    problems.report(`quote.${name}`, text ? "record_invalid" : "parameter_missing", message);
  }
  return word;
}
