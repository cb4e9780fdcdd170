/**
 * The rates of a source at one time, as exact decimal text: units of each currency for one usd, or,
 * of a source of token rates, usd for one token.
 */
export type RateReading = {
  /** The time of the rates. Null: always current, they never expire. */
  as_of: Date | null;
  rates: Readonly<Record<string, string>>;
};

/** A source of rates. */
export type RateSource = {
  /** Stored with every version of prices; prices of another source are not used. */
  name: string;
  /** How often to read it. */
  every_ms: number;
  /** Older rates are not used for new quotes. */
  max_age_ms: number;
  /** Throws if there is no complete, plausible answer within a limited time. */
  read(): Promise<RateReading>;
};
