import { choice, matching, optional, secret, text, urlOf } from "./setting-kinds.ts";

const BUCKET = matching(
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  "must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens",
);

/** Where files of all kinds are stored. */
export const FILE_SETTINGS = {
  data_dir: text(
    "SLIPROAD_DATA_DIR",
    ".sliproad",
    "Directory for the embedded database, the sandbox's keys and uploaded files; also for files " +
      "on their way to S3.",
  ),
  s3_bucket: optional(
    "SLIPROAD_S3_BUCKET",
    "Bucket of an S3-compatible store for uploaded files and exports; needed as soon as " +
      "processes on several machines share a database. Default: files are stored in the data " +
      "directory. `sliproad files copy` copies existing files.",
    BUCKET,
  ),
  s3_endpoint: optional(
    "SLIPROAD_S3_ENDPOINT",
    "URL of the S3-compatible store, such as `https://storage.internal:9000`; it may be private. " +
      "Default: that of AWS in the region.",
    urlOf(/^https?:$/, "https://storage.internal:9000"),
  ),
  s3_region: text("SLIPROAD_S3_REGION", "us-east-1", "Region that requests to S3 are signed for."),
  s3_access_key_id: secret(
    "SLIPROAD_S3_ACCESS_KEY_ID",
    "Id of the access key for the bucket. Needed with `SLIPROAD_S3_BUCKET`.",
  ),
  s3_secret_access_key: secret(
    "SLIPROAD_S3_SECRET_ACCESS_KEY",
    "The secret of that access key. Needed with `SLIPROAD_S3_BUCKET`.",
  ),
  s3_path_style: choice(
    "SLIPROAD_S3_PATH_STYLE",
    ["on", "off"],
    "on",
    "Whether the bucket is named in the path of the URL (`on`) or in its host name (`off`).",
  ),
} as const;
