/** Line icons in the colour of the text; none of them is the only carrier of a meaning. */
const PATHS = {
  document:
    "M5 5h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1ZM8.5 12.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM6.2 15.6c.4-1.3 1.2-2 2.3-2s1.900.7 2.3 2M14 10h3.500M14 14h3.500",
  camera:
    "M4 8h3l1.500-2.500h7L17 8h3a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1ZM12 16.500a3.200 3.200 0 1 0 0-6.400 3.200 3.200 0 0 0 0 6.400Z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7.500V12l3 2",
  lock: "M6 11h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1ZM8 11V8a4 4 0 0 1 8 0v3",
  building:
    "M5 20V5a1 1 0 0 1 1-1h8a1 1 0 0 1 1 1v15M15 10h3a1 1 0 0 1 1 1v9M3 20h18M8.500 8h3M8.500 12h3M8.500 16h3",
  face: "M12 12.500a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.500 20.500c.8-3.700 3.500-5.500 7.500-5.500s6.700 1.800 7.500 5.500",
  check: "M5 12.500l4.500 4.500L19 7.500",
  cross: "M7 7l10 10M17 7L7 17",
  alert:
    "M12 8v5M12 16.300v.200M10.700 4.200 3.200 17.500A1.500 1.500 0 0 0 4.500 19.800h15a1.500 1.500 0 0 0 1.300-2.300L13.300 4.200a1.500 1.500 0 0 0-2.600 0Z",
  offline:
    "M3 3l18 18M8.500 15.500a5 5 0 0 1 7 0M5 12a10 10 0 0 1 4.500-2.600M14 9.300A10 10 0 0 1 19 12M2 8.500a15 15 0 0 1 4.300-2.700M10 4.600A15 15 0 0 1 22 8.500M12 19.300v.200",
  upload: "M12 15.500V5M8 8.500 12 4.500l4 4M5 15v3.500a1 1 0 0 0 1 1h12a1 1 0 0 0 1-1V15",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A road that another one joins. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" width="28" height="28" aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M8 19V5M8 13c0-4 8-2 8-8" />
    </svg>
  );
}
