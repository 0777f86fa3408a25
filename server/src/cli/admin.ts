import { Command } from 'commander';
import { addFlags, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { openApiDocument } from '../http/openapi.ts';
import { defaultIssuer } from '../instance/instance.ts';

export function adminCommands(): Command {
  const group = new Command('admin').description(
    'describe the admin API, which grantd serve --admin-api turns on',
  );
  addFlags(group.command('openapi').description('print the description of the admin API, in OpenAPI 3.1'), [
    'issuer',
    'port',
  ])
    .addHelpText(
      'after',
      `
  grantd admin openapi --issuer https://login.example.com > admin.json`,
    )
    .action((flags: GivenFlags) => {
      const { settings } = readConfiguration(flags, process.env);
      const document = openApiDocument(settings.issuer ?? defaultIssuer(settings));
      console.log(JSON.stringify(document, null, 2));
    });
  return group;
}
