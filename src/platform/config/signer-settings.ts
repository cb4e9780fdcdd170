import { integer, matching, optional, secret } from "./setting-kinds.ts";

const TOKEN = matching(/^[\x21-\x7e]{32,}$/, "must have at least 32 characters without spaces");
const ADDRESS = matching(
  /^(\/.+|(127\.0\.0\.1|localhost|\[::1\]):\d{1,5})$/,
  "must be the absolute path of a socket, or a port of this machine such as 127.0.0.1:4002",
);

/** Who signs transactions on real chains. */
export const SIGNER_SETTINGS = {
  signer_file: optional(
    "SLIPROAD_SIGNER_FILE",
    "JSON file of the signer: its keystore, its journal and its limits. Set it for " +
      "`sliproad signer`; or for the worker, which then signs itself. See docs/guides/chains.md.",
  ),
  signer_passphrase: secret(
    "SLIPROAD_SIGNER_PASSPHRASE",
    "Passphrase of the keystore, wherever `SLIPROAD_SIGNER_FILE` is set.",
  ),
  signer_address: optional(
    "SLIPROAD_SIGNER_ADDRESS",
    "Where `sliproad signer` listens and the worker finds it: the path of a socket, or a port of " +
      "this machine such as `127.0.0.1:4002`.",
    ADDRESS,
  ),
  signer_token: secret(
    "SLIPROAD_SIGNER_TOKEN",
    "Secret that `sliproad signer` and the worker share; 32 characters or more. Needed with " +
      "`SLIPROAD_SIGNER_ADDRESS`.",
    TOKEN,
  ),
  signer_timeout_seconds: integer(
    "SLIPROAD_SIGNER_TIMEOUT_SECONDS",
    1,
    60,
    5,
    "How long the worker waits for an answer of `sliproad signer`.",
  ),
} as const;
