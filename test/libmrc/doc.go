// Package libmrc runs programs of MRC, ours and others', with lib_mrc.so and two "weft nic" over
// two planes.
package libmrc
