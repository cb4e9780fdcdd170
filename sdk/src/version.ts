/**
 * The version of the API that this client was written for, sent with every request, so that a
 * newer server answers as this client expects.
 */
export const API_VERSION = "2026-11-15";
