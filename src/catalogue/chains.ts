/** The stablecoins accepted as deposits and delivered by onramps. */
export const TOKENS = ["usdc", "usdt"] as const;
export type Token = (typeof TOKENS)[number];

/** The supported chains, in display order. */
export const CHAINS = ["polygon", "ethereum", "arbitrum", "base", "tron", "solana"] as const;
export type Chain = (typeof CHAINS)[number];

/** Decimal digits of a token, on every chain: amounts are stored in millionths. */
export const TOKEN_DIGITS = 6;
/** Amounts are sent as JSON numbers of 15 digits, six of them decimals. */
export const TOKEN_AMOUNT_MAX = 999_999_999_999_999n;

export function isToken(text: string): text is Token {
  return (TOKENS as readonly string[]).includes(text);
}

export function isChain(text: string): text is Chain {
  return (CHAINS as readonly string[]).includes(text);
}

/** What pays for transactions on each chain. Nothing else is stated in it: it is no currency. */
export const NATIVE_COINS: Readonly<Record<Chain, string>> = {
  polygon: "pol",
  ethereum: "eth",
  arbitrum: "eth",
  base: "eth",
  tron: "trx",
  solana: "sol",
};
/** Native coins are booked in billionths. */
export const COIN_DIGITS = 9;

/** What a refund on each chain costs the user, in millionths of a token. */
export type NetworkFees = Readonly<Record<Chain, bigint>>;

/** The shipped table: no chain costs anything. The operator's file states real ones. */
export const NETWORK_FEES = Object.fromEntries(
  CHAINS.map((chain) => [chain, 0n]),
) as unknown as NetworkFees;

/** The smallest refund: one token. */
export const REFUND_MIN = 10n ** BigInt(TOKEN_DIGITS);
