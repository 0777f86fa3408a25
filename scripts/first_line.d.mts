export declare function settingsOf(script: string): {
  readonly flags: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
};
