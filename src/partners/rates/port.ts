/** What a source says at one time: units of each currency for one usd, as exact decimal text. */
export type RateReading = {
  /** What time the rates are of. Null: always as of now, they never age. */
  as_of: Date | null;
  rates: Readonly<Record<string, string>>;
};

/** Where rates come from. */
export type RateSource = {
  /** Kept with every version of prices; prices of another source are not used. */
  name: string;
  /** How often it is worth asking. */
  every_ms: number;
  /** Throws when there is no whole, sensible answer, within a limited time. */
  read(): Promise<RateReading>;
};
