import type { IncomingMessage } from "node:http";
import { callerNetwork } from "./caller-network.ts";

/** The origin of a request. */
export type AddressOf = (request: IncomingMessage) => string;

/** Who sends a request, before it is looked at: by credential, right or wrong, or by network. */
export function senderOf(request: IncomingMessage, addressOf: AddressOf): string {
  const { authorization, cookie } = request.headers;
  return authorization ?? cookie ?? callerNetwork(addressOf(request));
}
