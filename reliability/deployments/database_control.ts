/** A database server in the hands of an accident. Each returns once it is so. */
export interface DatabaseControl {
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after it was killed. */
  start(): Promise<void>;
  /** Lets it stand still, as SIGSTOP does: connections stay open, and nothing answers. */
  pause(): Promise<void>;
  /** Lets it go on after a pause. */
  resume(): Promise<void>;
}
