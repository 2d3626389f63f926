/*
 * Reads profiles, and has the example of OCP's repository (examples/ev_expansion) check and expand
 * them: a line each of "fields, EVs", format widths, fields, and EVs in hexadecimal.
 */
#define main ocp_main
#include "ev_expansion.c"
#undef main

int main(void)
{
	uint32_t formats, fields, evs;

	while (scanf("%u %u %u", &formats, &fields, &evs) == 3) {
		EV_PROF_INIT(formats, fields, evs);
		for (uint32_t i = 0; i < formats; i++)
			if (scanf("%u", &_ev_fmt_profile.fmt_fields[i].width) != 1)
				return 1;
		for (uint32_t i = 0; i < fields; i++) {
			struct ev_field *f = &_ev_profile.fields[i];

			if (scanf("%u %u %u %u %u", &f->width, &f->init_val, &f->min_val, &f->max_val,
				  &f->mask) != 5)
				return 1;
		}
		for (uint32_t i = 0; i < evs; i++)
			for (int b = 0; b < MAX_EV_LEN; b++)
				if (scanf("%2hhx", &_ev_profile.evs[i][b]) != 1)
					return 1;
		check_profs();
		dump_expanded_evs();
		EV_PROF_FREE();
	}
	return 0;
}
