export type FailureKind =
  | "refused_address"
  | "dns"
  | "connect"
  | "timeout"
  | "too_large"
  | "redirect"
  | "tls"
  | "protocol";

/** A failure of an outgoing request; thrown inside the sender. */
export class SendError extends Error {
  readonly failure: FailureKind;

  constructor(failure: FailureKind, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** Converts Node's errors to the sender's. */
export function toSendError(error: unknown, is_sent: boolean): SendError {
  if (error instanceof SendError) return error;
  const { code = "", message, name } = error as NodeJS.ErrnoException;
  if (TLS_CODE.test(code)) {
    // OpenSSL's message; the rest is source locations, and advice for operators of Node.
    const { reason = message.split(";")[0] } = error as { reason?: string };
    return new SendError("tls", `The TLS connection failed: ${reason}.`);
  }
  if (/^(Z_|ERR_(_?BROTLI|_?ZSTD|_ERROR|PADDING|TRAILING)|ZSTD_)/.test(code)) {
    return new SendError("protocol", "The response could not be decompressed.");
  }
  if (
    code === "UND_ERR_INVALID_ARG" ||
    code === "UND_ERR_NOT_SUPPORTED" ||
    code === "ERR_INVALID_CHAR"
  ) {
    return new SendError("protocol", `The request cannot be sent: ${message}.`);
  }
  if (name === "HTTPParserError" || /^(HPE_|UND_ERR_HEADERS|UND_ERR_RES_CONTENT)/.test(code)) {
    return new SendError("protocol", "The response is not valid HTTP/1.1.");
  }
  return is_sent
    ? new SendError("protocol", "The connection closed before the response was complete.")
    : new SendError("connect", `The connection failed (${code || message}).`);
}

const TLS_CODE = new RegExp(
  "^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERROR_IN_CERT|" +
    "HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE))",
);
