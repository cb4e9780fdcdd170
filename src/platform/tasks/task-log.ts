/** The log that a worker needs; Fastify's and pino's have this type. */
export type TaskLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
