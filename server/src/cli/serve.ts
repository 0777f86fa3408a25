import { Command } from 'commander';
import {
  addFlags,
  type Configuration,
  type GivenFlags,
  readConfiguration,
  unknownVariableWarnings,
} from '../config/configuration.ts';
import { OPTION_NAMES } from '../config/options.ts';
import { warnOfPasswordInFlag } from '../data/database_of.ts';
import { refuseInsecureIssuer } from '../instance/instance.ts';
import {
  refuseContradictoryDirectory,
  refuseContradictoryGateways,
  refuseContradictoryMail,
  refuseContradictoryMetrics,
  refuseContradictoryTls,
  refuseExposedDemo,
  refuseOpenAdministration,
} from '../serve/exposure.ts';

export function serveCommand(): Command {
  return addFlags(new Command('serve').description('run the server until SIGTERM or Ctrl-C'), OPTION_NAMES)
    .addHelpText(
      'after',
      `
Most servers need only --issuer, --database, --port, --trusted-proxies and --operator-name.

Each value comes from its flag, else its GRANTD_… variable, else the config file, else the default. In the config file,
an option has the name of its flag in camel case: {"accessTokenLifetime": 300}. The server's secret has no flag, but
the file that contains it has: --secret-file.

After SIGHUP, the server reads the config file again, and the files that it names. The log lists which changes the
server has applied, and which need a restart. If the server runs in a terminal, SIGHUP ends it.

Example:
  grantd serve --issuer https://login.example.com --trusted-proxies 127.0.0.1 --config /etc/grantd/grantd.json`,
    )
    .action(async (flags: GivenFlags) => {
      const read = () => serverConfiguration(flags);
      const configuration = read();
      // Loaded on demand: other commands start faster without a web server, and a supervisor needs none.
      if (configuration.settings.workers === 1) {
        const { serve } = await import('../serve/serve.ts');
        await serve(configuration, process.env, read);
      } else {
        const { supervise } = await import('../serve/supervisor.ts');
        await supervise(configuration, read);
      }
    });
}

/**
 * Reads the configuration of a server, and warns of what the server would ignore.
 * @throws {ConfigurationRefused} options are invalid or contradict each other
 */
export function serverConfiguration(flags: GivenFlags): Configuration {
  const configuration = readConfiguration(flags, process.env);
  refuseInsecureIssuer(configuration);
  refuseExposedDemo(configuration);
  refuseContradictoryTls(configuration);
  refuseContradictoryMetrics(configuration);
  refuseContradictoryMail(configuration);
  refuseOpenAdministration(configuration);
  refuseContradictoryDirectory(configuration);
  refuseContradictoryGateways(configuration);
  for (const warning of unknownVariableWarnings(process.env)) console.error(`grantd: ${warning}`);
  warnOfPasswordInFlag(configuration);
  return configuration;
}
