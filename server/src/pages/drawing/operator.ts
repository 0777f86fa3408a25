import { type Configuration, typedPath } from '../../config/configuration.ts';
import { flagOf } from '../../config/options.ts';
import { type Picture, readLogo } from '../../config/picture.ts';
import { ConfigurationRefused } from '../../config/refused.ts';
import { readTheme, type Theme } from './theme.ts';

/** The operator, as configured. */
export interface Operator {
  readonly name?: string;
  readonly color?: string;
  readonly logo?: Picture;
  readonly theme?: Theme;
}

/** @throws {ConfigurationRefused} the logo or the theme is unreadable or invalid, or both say the same */
export async function readOperator(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<Operator> {
  const { settings, sourceOf } = configuration;
  const { operatorName, operatorColor, operatorLogo } = settings;
  const theme = await readTheme(configuration, environment);
  const ofTheme = theme?.colors?.light.brand;
  if (operatorLogo !== undefined && theme?.logo !== undefined)
    throw new ConfigurationRefused(
      `${sourceOf('theme')}: has a logo, so ${flagOf('operatorLogo')} cannot be set`,
    );
  if (operatorColor !== undefined && (ofTheme ?? theme?.colors?.dark.brand) !== undefined)
    throw new ConfigurationRefused(
      `${sourceOf('theme')}: has a brand colour, so ${flagOf('operatorColor')} cannot be set`,
    );
  const logo =
    operatorLogo === undefined
      ? theme?.logo
      : readLogo(typedPath(environment, operatorLogo), sourceOf('operatorLogo'));
  const color = operatorColor ?? ofTheme;
  return {
    ...(operatorName !== undefined && { name: operatorName }),
    ...(color !== undefined && { color }),
    ...(logo !== undefined && { logo }),
    ...(theme !== undefined && { theme }),
  };
}
